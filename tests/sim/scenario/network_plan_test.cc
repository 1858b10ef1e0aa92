#include "sim/scenario/network_plan.h"

#include <gtest/gtest.h>

#include "config/model/bracketing.h"
#include "config/topology/topology.h"
#include "sim/scenario/scenario_file.h"
#include "sim/scenario/swarm.h"

namespace tributary::sim {
namespace {

Scenario of_five() {
  Scenario s;
  s.jobs.resize(1);
  s.jobs[0].workers = 5;
  return s;
}

std::string expression(const Scenario& s) {
  return config::format_bracket(expression_of(plan_network(s), s.jobs[0].id));
}

// T15: what the oracle computes for a job with a declared order.
TEST(NetworkPlan, TheExpressionIsDeclaredOrTheTrees) {
  Scenario s = of_five();
  EXPECT_EQ(expression(s), "[0, 1, 2, 3, 4]");
  const auto rank = [](std::uint32_t r) { return config::Bracket{{}, r}; };
  s.jobs[0].sums.bracketing =
      config::Bracket{{rank(4), {{rank(1), rank(0)}, 0}, rank(2), rank(3)}, 0};
  EXPECT_EQ(expression(s), "[4, [1, 0], 2, 3]");
  s.jobs[0].sums.bracketing.reset();
  s.switches = {{"root", "", 1}, {"a", "root", 2}, {"b", "root", 2}};
  EXPECT_EQ(expression(s), "[0, [1, 2], [3, 4]]");
}

std::string text_of(const NetworkPlan& plan) {
  std::string text;
  for (const NetworkPlan::Switch& sw : plan.switches) {
    text.append(config::describe_tree(sw.config)).append("\n");
    for (const config::PortConfig& port : sw.config.ports) text.append(port.name).append(" ");
    for (const config::JobConfig& job : sw.config.jobs) {
      text.append(std::to_string(job.id)).append(" ").append(std::to_string(job.deadline.to_ns()));
      for (const auto& c : job.children)
        text.append(" ").append(c.port).append(" ").append(std::to_string(c.ipv4));
      for (const auto& m : job.members)
        text.append(" ").append(m.port).append(" ").append(std::to_string(m.rank));
      if (job.parent)
        text.append(" up ")
            .append(job.parent->uplink)
            .append(" ")
            .append(std::to_string(job.parent->child))
            .append(" of ")
            .append(std::to_string(job.parent->fan_in));
      text.append("\n");
    }
  }
  return text;
}

// Large trees are planned apart; the plan is the one that the configuration's own code makes.
TEST(NetworkPlan, AFatTreeIsWhatItsSwitchesWouldBe) {
  for (const std::uint32_t workers : {3u, 20u, 27u}) {
    Scenario s = of_five();
    s.jobs[0].workers = workers;
    s.jobs.push_back(s.jobs[0]);
    s.jobs[1].id = 2;
    s.jobs[1].workers = 2;  // below one switch of many
    s.fat_tree = {3, 4};
    const NetworkPlan fast = plan_network(s);
    s.switches = generate(s.fat_tree, workers + 2);
    s.fat_tree = {};
    EXPECT_EQ(text_of(fast), text_of(plan_network(s))) << workers << " workers";
  }
}

// T10, O12: servers hang anywhere; each knows the roots of its jobs, and those know the way to it.
TEST(NetworkPlan, ServersOfATreeAreWhereTheRootsLookForThem) {
  Scenario s = of_five();
  s.jobs[0].servers = 2;
  s.switches = {{"root", "", 1}, {"a", "root", 2}, {"b", "root", 2}};
  s.servers.count = 2;
  s.servers.spread = true;
  const NetworkPlan plan = plan_network(s);
  ASSERT_EQ(plan.servers.size(), 2u);
  EXPECT_EQ(plan.servers[0].cabled_to, 0u);
  EXPECT_EQ(plan.servers[1].cabled_to, 1u);
  const auto& root = plan.switches[0].config;
  for (const auto& server : plan.servers) {
    ASSERT_EQ(server.config.jobs.size(), 1u);
    EXPECT_EQ(server.config.jobs[0].root_ipv4, root.ipv4);
  }
  ASSERT_EQ(root.completion.hosts.size(), 2u);
  EXPECT_EQ(root.completion.hosts[0].port, root.ports.back().name);
  EXPECT_EQ(root.completion.hosts[1].port, root.ports.front().name) << "behind switch a";
  EXPECT_TRUE(plan.switches[1].config.completion.hosts.empty());
}

// T1, rule 16: a switch that moves has an uplink to each place where it ever is, and one more cable
// to a place that it comes back to is not needed.
TEST(NetworkPlan, ASwitchThatMovesHasAnUplinkToEachPlace) {
  Scenario s = of_five();
  s.switches = {{"root", "", 1}, {"a", "root", 2}, {"b", "root", 2}};
  for (const std::uint32_t to : {1u, 0u, 1u}) s.changes.push_back({Duration::ms(1), 0, to, {}, 2});
  const NetworkPlan plan = plan_network(s);
  ASSERT_EQ(plan.versions.size(), 4u);
  ASSERT_EQ(plan.cables.size(), 1u);
  EXPECT_TRUE(plan.cables[0].of_switch);
  EXPECT_EQ(plan.cables[0].mover, 2u);
  EXPECT_EQ(plan.cables[0].to, 1u);
  const auto parent_of_b = [&](std::size_t version) {
    const config::ParentConfig& parent = *plan.versions[version].configs[2].jobs[0].parent;
    return parent.name + " by " + parent.uplink;
  };
  EXPECT_EQ(parent_of_b(0), "root by p0");
  EXPECT_EQ(parent_of_b(1), "a by p3") << "after two workers' ports";
  EXPECT_EQ(parent_of_b(2), parent_of_b(0));
  EXPECT_EQ(parent_of_b(3), parent_of_b(1));
  EXPECT_EQ(*plan.versions[1].above[2], 1u);
  EXPECT_EQ(plan.versions[1].configs[0].jobs[0].children.size(), 2u) << "a rank, and a";
  EXPECT_EQ(plan.versions[1].configs[1].jobs[0].children.size(), 3u) << "two ranks, and b";
}

// What is drawn for trees can be read from a file again, so that a failure can be repeated from it.
TEST(NetworkPlan, DrawnTreesHaveNothingThatSwitchesRefuse) {
  std::size_t trees = 0;
  std::size_t bracketed = 0;
  std::size_t dynamic = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Scenario s = draw_scenario(seed);
    if (s.switches.size() < 2) continue;
    EXPECT_NO_THROW(parse_scenario(to_yaml(s), "drawn")) << "seed " << seed;
    for (const JobScenario& job : s.jobs) {
      dynamic += job.sums.slots == config::SlotMode::dynamic ? 1 : 0;
      bracketed += job.sums.bracketing ? 1 : 0;
    }
    ++trees;
  }
  EXPECT_GT(trees, 40u);
  EXPECT_GT(dynamic, 40u);
  EXPECT_GT(bracketed, 20u);
}

}  // namespace
}  // namespace tributary::sim
