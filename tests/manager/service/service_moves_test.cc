// Switches that move to another way up: who is told what, and when, over restarts and refusals.
#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "config/topology/topology_tree.h"
#include "manager/service/service.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/two_ways.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;
using testing::Property;
using testing::Throws;

const std::set<std::string> kAll = {"L", "A", "B", "R"};

struct Manager {
  explicit Manager(const std::string& file, const config::Topology& topology = two_ways())
      : store(file), service(store, {{{.name = "a"}}, {}, topology}, {}) {}
  void submit(const std::string& name = "all") {
    service.submit("tenant: a\njob: {name: " + name + ", workers: 3, window: 64}\n", "job.yaml",
                   {});
    service.advance({});
  }
  void move(const std::string& uplink, const std::set<std::string>& present = kAll) {
    service.use_uplink("R", uplink, present, {});
  }
  // The switch's configuration by its document.
  [[nodiscard]] config::SwitchConfig told(const std::string& node) const {
    return config::told_config(config::parse_assigned(service.document(node), "assigned"));
  }
  [[nodiscard]] bool is_open(const std::string& node, const std::string& port) const {
    const config::SwitchConfig config = told(node);
    for (const config::PortConfig& one : config.ports)
      if (one.name == port) return !config::is_off_the_tree(one.vlan.mode);
    return false;
  }
  // Ports: of the job's sums at R, of A and B to R, of L to the job's switch below.
  [[nodiscard]] std::string sight() const {
    std::string text = "R up by " + told("R").jobs.at(0).parent->uplink;
    for (const char* port : {"a", "b"})
      text.append(is_open("R", port) ? "" : std::string(", ") + port + " closed");
    for (const char* node : {"A", "B"})
      text.append("; ").append(node).append(is_open(node, "r") ? " open" : " closed");
    const config::SwitchConfig above = told("L");
    for (const config::ChildConfig& child : above.jobs.at(0).children)
      if (child.is_switch) text += "; L hears it at " + child.port;
    return text;
  }

  SqliteStore store;
  Service service;
};

constexpr const char* kBefore = "R up by a, b closed; A open; B closed; L hears it at a";
constexpr const char* kOpens = "R up by a, b closed; A open; B open; L hears it at a";
constexpr const char* kMoves = "R up by b, a closed; A open; B open; L hears it at a";
constexpr const char* kMoved = "R up by b, a closed; A closed; B open; L hears it at b";

TEST(ServiceMoves, C7_TheNewWayOpensFirstAndTheOldOneClosesLast) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit();
  EXPECT_EQ(manager.sight(), kBefore);
  auto version = manager.service.version();
  const auto grew = [&] { return std::exchange(version, manager.service.version()) < version; };
  manager.move("b");
  EXPECT_EQ(manager.service.move()->waits_for(), "B");
  EXPECT_EQ(manager.sight(), kOpens);
  EXPECT_TRUE(grew());
  manager.service.go_on_moving({});
  EXPECT_EQ(manager.service.move()->waits_for(), "R");
  EXPECT_EQ(manager.sight(), kMoves);
  EXPECT_TRUE(grew());
  manager.service.go_on_moving({});
  EXPECT_FALSE(manager.service.move());
  EXPECT_EQ(manager.sight(), kMoved);
  EXPECT_TRUE(grew());
  manager.move("b");
  EXPECT_FALSE(grew()) << "it is there";
}

TEST(ServiceMoves, AFollowingManagerGoesOnWhereTheLastOneWas) {
  const Scratch scratch;
  auto manager = std::make_unique<Manager>(scratch.file());
  const auto kill = [&] {
    manager.reset();
    manager = std::make_unique<Manager>(scratch.file());
  };
  manager->submit();
  manager->move("b");
  kill();
  EXPECT_EQ(manager->sight(), kOpens);
  manager->service.go_on_moving({});
  kill();
  EXPECT_EQ(manager->sight(), kMoves);
  EXPECT_LE(manager->service.move()->since, manager->service.version().revision);
  manager->service.go_on_moving({});
  kill();
  EXPECT_EQ(manager->sight(), kMoved);
  EXPECT_EQ(way_of(manager->service.admission().topology(), "R"), "b");
}

TEST(ServiceMoves, ARefusalLeavesTheOldWay) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit();
  for (int steps = 0; steps < 2; ++steps) {
    manager.move("b");
    if (steps > 0) manager.service.go_on_moving({});
    const auto version = manager.service.version();
    manager.service.give_up_moving({});
    EXPECT_GT(manager.service.version(), version);
    EXPECT_EQ(manager.sight(), kBefore);
    EXPECT_FALSE(manager.service.move());
  }
}

TEST(ServiceMoves, ACallerMayThinkBetterOfItUntilTheNewWayIsOpen) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit();
  manager.move("b");
  manager.move("a");
  EXPECT_EQ(manager.sight(), kBefore);
  manager.move("b");
  manager.service.go_on_moving({});
  EXPECT_THAT([&] { manager.move("a"); },
              Throws<std::invalid_argument>(Property(
                  &std::exception::what,
                  HasSubstr("switch R is moving to b, and waits for R; allowed: one move"))));
  EXPECT_EQ(manager.sight(), kMoves);
}

TEST(ServiceMoves, AMoveWhoseSwitchHasGoneIsGivenUp) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit();
  manager.move("b");
  manager.service.go_on_moving({});
  manager.move("a", {"L", "A", "B"});
  EXPECT_FALSE(manager.service.move());
  EXPECT_EQ(manager.sight(), kBefore);
}

// It has no job, and so cannot drain what passes it.
TEST(ServiceMoves, ASwitchThatAggregatesNothingMovesWithoutJobsAlone) {
  const Scratch scratch;
  config::Topology relay = two_ways();
  relay.switches[3].aggregate = false;
  Manager manager(scratch.file(), relay);
  manager.submit();
  EXPECT_THAT([&] { manager.move("b"); },
              Throws<std::invalid_argument>(Property(
                  &std::exception::what, HasSubstr("cannot move to b: it aggregates nothing"))));
  EXPECT_FALSE(manager.service.move());
  manager.service.cancel("all", {}, "asked");
  EXPECT_NO_THROW(manager.move("b"));
}

TEST(ServiceMoves, AParentThatSumsHasTheJobForAsLongAsItIsNeeded) {
  const Scratch scratch;
  Manager manager(scratch.file(), two_ways(true));
  manager.submit();
  const auto have = [&] {
    std::string names;
    for (const char* node : {"A", "B"})
      if (!manager.told(node).jobs.empty()) names += node;
    return names;
  };
  EXPECT_EQ(have(), "A");
  manager.move("b");
  EXPECT_EQ(have(), "AB");
  manager.service.go_on_moving({});
  EXPECT_EQ(have(), "AB");
  manager.service.go_on_moving({});
  EXPECT_EQ(have(), "B");
  EXPECT_EQ(manager.service.admission().amounts().used_at("A"), Amount{});
  EXPECT_GT(manager.service.admission().amounts().used_at("B").slots, 0u);
}

// M is between B and L, and has no job before.
config::Topology with_one_between() {
  config::Topology topology = two_ways(true);
  config::TopologySwitch between = topology.switches[2];
  between.config.name = "M";
  between.config.id = 5;
  between.config.ipv4 = 0x0A000005;
  topology.switches[2].parent = "M";
  topology.switches[2].parent_port = "r";
  topology.switches.push_back(between);
  return topology;
}

TEST(ServiceMoves, SwitchesThatGainJobsAreToldBeforeTheSwitchMoves) {
  const Scratch scratch;
  auto manager = std::make_unique<Manager>(scratch.file(), with_one_between());
  manager->submit();
  // The switch that is waited for, and those that have the job.
  const auto state = [&] {
    const auto& move = manager->service.move();
    std::string text = move ? move->waits_for() + ": " : "";
    for (const char* node : {"A", "B", "M"})
      if (!manager->told(node).jobs.empty()) text += node;
    return text + " " + manager->told("R").jobs.at(0).parent->uplink;
  };
  const std::set<std::string> all = {"L", "A", "B", "M", "R"};
  EXPECT_THAT([&] { manager->move("b", kAll); },
              Throws<std::invalid_argument>(
                  Property(&std::exception::what, HasSubstr("no agent speaks for switch M"))));
  for (int steps = 0; steps < 3; ++steps) {
    manager->move("b", all);
    for (int step = 0; step < steps; ++step) manager->service.go_on_moving({});
    manager->service.give_up_moving({});
    EXPECT_EQ(state(), "A a") << steps;
  }
  manager->move("b", all);
  EXPECT_EQ(state(), "B: AB a");
  manager->service.go_on_moving({});
  manager.reset();
  manager = std::make_unique<Manager>(scratch.file(), with_one_between());
  EXPECT_EQ(state(), "M: ABM a");
  manager->service.go_on_moving({});
  EXPECT_EQ(state(), "R: ABM b");
  manager->service.go_on_moving({});
  EXPECT_EQ(state(), "BM b");
}

TEST(ServiceMoves, ATopologyWithoutASwitchThatIsToldFirstWaitsForItNoMore) {
  const Scratch scratch;
  Manager manager(scratch.file(), with_one_between());
  manager.submit();
  manager.move("b", {"L", "A", "B", "M", "R"});
  manager.service.set_setup({{{.name = "a"}}, {}, two_ways(true)}, {});
  EXPECT_EQ(manager.service.move()->waits_for(), "B");
  EXPECT_EQ(manager.service.move()->since, manager.service.version().revision);
  manager.service.go_on_moving({});
  EXPECT_EQ(manager.service.move()->waits_for(), "R");
}

// The old link closes when the switch has left it.
TEST(ServiceMoves, C7_OfTwoLinksToOneParentBothAreOpenUntilTheSwitchHasMoved) {
  const Scratch scratch;
  config::Topology twice = two_ways(true);
  twice.switches[3].parent = "B";
  twice.switches[3].other_uplinks[0].parent_port = "x";
  Manager manager(scratch.file(), twice);
  manager.submit();
  // "a: rx, hears r": R goes up by a; B has ports r and x open, and its job has its child behind r.
  const auto sight = [&] {
    std::string text = manager.told("R").jobs.at(0).parent->uplink + ": ";
    for (const char* port : {"r", "x"})
      if (manager.is_open("B", port)) text += port;
    return text + ", hears " + manager.told("B").jobs.at(0).children.at(0).port;
  };
  EXPECT_EQ(sight(), "a: r, hears r");
  for (int steps = 0; steps < 2; ++steps) {
    manager.move("b");
    if (steps > 0) manager.service.go_on_moving({});
    manager.service.give_up_moving({});
    EXPECT_EQ(sight(), "a: r, hears r");
  }
  manager.move("b");
  EXPECT_EQ(manager.service.move()->waits_for(), "B");
  EXPECT_EQ(sight(), "a: rx, hears r");
  manager.service.go_on_moving({});
  EXPECT_EQ(manager.service.move()->waits_for(), "R");
  EXPECT_EQ(sight(), "b: rx, hears r");
  manager.service.go_on_moving({});
  EXPECT_EQ(sight(), "b: x, hears x");
}

// A has room for two jobs, and has them until R has left it.
TEST(ServiceMoves, AJobThatComesDuringAMoveNeedsRoomOnBothWays) {
  const Scratch scratch;
  config::Topology narrow = two_ways(true);
  narrow.switches[1].config.slots = 128;
  Manager manager(scratch.file(), narrow);
  const auto job = [&](const char* name) -> const Job& {
    return manager.service.admission().jobs().at(name);
  };
  manager.submit();
  manager.move("b");
  manager.submit("two");
  EXPECT_TRUE(job("two").admitted());
  manager.submit("three");
  EXPECT_FALSE(job("three").admitted());
  EXPECT_THAT(job("three").waits_for, HasSubstr("slots at A"));
  EXPECT_THAT(job("three").waits_for, HasSubstr(", while switch R moves from a to b"));
  const auto now = manager.service.admit_now(
      parse_job_request("tenant: a\njob: {name: pods, workers: 2, window: 64, members: "
                        "[{rank: 0, worker: main}, {rank: 1, worker: w1}]}\n",
                        "pods"),
      "group", {});
  EXPECT_EQ(now.id, 0u);
  EXPECT_THAT(now.shortage, HasSubstr("while switch R moves"));
  EXPECT_EQ(manager.told("A").jobs.size(), 2u);
  EXPECT_EQ(manager.told("B").jobs.size(), 2u);
  manager.service.cancel("two", {}, "asked");
  manager.service.advance({});
  EXPECT_TRUE(job("three").admitted()) << "its room is free on both";
  manager.submit("four");
  EXPECT_FALSE(job("four").admitted());
  manager.service.go_on_moving({});
  manager.service.go_on_moving({});
  manager.service.advance({});
  EXPECT_TRUE(job("four").admitted()) << "the move is over";
}

TEST(ServiceMoves, JobsHaveToFitAndTheirSwitchesToBeThere) {
  const Scratch scratch;
  Manager manager(scratch.file(), two_ways(true, ", slots: 64"));
  manager.submit();
  manager.submit("more");
  const auto refusal = [&](const std::set<std::string>& present) {
    try {
      manager.move("b", present);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(refusal(kAll),
              HasSubstr("switch R cannot move to b: the jobs by that way: needs 128 slots at B"));
  manager.service.cancel("more", {}, "asked");
  EXPECT_THAT(refusal({"A", "B", "R"}), HasSubstr("no agent speaks for switch L"));
  EXPECT_THAT(refusal({"A", "L", "R"}), HasSubstr("no agent speaks for switch B"));
  EXPECT_EQ(manager.service.admission().amounts().used_at("B"), Amount{});
  EXPECT_EQ(refusal({"L", "B", "R"}), "none") << "the one that it leaves may be dead";
}

TEST(ServiceMoves, ATopologyWithoutTheWayEndsTheMove) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit();
  manager.move("b");
  config::Topology other = two_ways();
  other.switches[3].other_uplinks.clear();
  manager.service.set_setup({{{.name = "a"}}, {}, other}, {});
  EXPECT_FALSE(manager.service.move());
  EXPECT_EQ(manager.told("R").jobs.at(0).parent->uplink, "a");
  manager.service.set_setup({{{.name = "a"}}, {}, two_ways()}, {});
  EXPECT_EQ(manager.sight(), kBefore) << "it is forgotten";
}

TEST(ServiceMoves, WhatTheFileSaysIsNotKept) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.submit();
  for (const char* uplink : {"b", "a"}) {
    manager.move(uplink);
    manager.service.go_on_moving({});
    manager.service.go_on_moving({});
  }
  EXPECT_EQ(manager.sight(), kBefore);
  manager.service.set_setup({{{.name = "a"}}, {}, with_way(two_ways(), "R", "b")}, {});
  EXPECT_EQ(manager.sight(), kMoved) << "the file's way is the first again";
}

}  // namespace
}  // namespace tributary::manager
