#include "tests/sim/network_plan.h"

#include <gtest/gtest.h>

#include "config/bracketing.h"
#include "tests/sim/swarm.h"

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

// What several switches together cannot do is drawn for single ones.
TEST(NetworkPlan, DrawnTreesHaveNoKnobsThatSwitchesRefuse) {
  std::size_t trees = 0;
  std::size_t dynamic = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Scenario s = draw_scenario(seed);
    for (const JobScenario& job : s.jobs) {
      const bool refused = job.sums.slots == config::SlotMode::dynamic || job.sums.verify ||
                           job.sums.on_deadline == config::OnDeadline::escalate ||
                           job.sums.bracketing;
      EXPECT_FALSE(refused && s.switches.size() > 1) << "seed " << seed;
      dynamic += job.sums.slots == config::SlotMode::dynamic ? 1 : 0;
    }
    trees += s.switches.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(trees, 40u);
  EXPECT_GT(dynamic, 40u);
}

}  // namespace
}  // namespace tributary::sim
