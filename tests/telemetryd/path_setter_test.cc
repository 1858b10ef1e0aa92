// Paths of other traffic that the server sets: what is decided, and what switches are told (C7).
#include "tools/telemetryd/path_setter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "config/change/override.h"
#include "config/topology/document.h"
#include "tests/telemetryd/diamond.h"

namespace tributary::telemetryd {
namespace {

using nlohmann::ordered_json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::size_t> kByA{0, 4, 8};
const std::vector<std::size_t> kByB{2, 6, 8};
constexpr const char* kTo = "10.0.0.2/32";

class Paths : public testing::Test {
 protected:
  const NetworkFile file =
      parse_network(with("trees:",
                         "paths:\n  - {from: L, to: work, destinations: [10.0.0.2]}\n"
                         "  - {from: A, to: work, destinations: [10.0.0.3]}\ntrees:"),
                    "n.yaml");
  PathWatch watch{file};
  std::map<std::string, std::vector<std::string>> pinned;  // by "L1": the list of L's port 1
  std::vector<std::string> told;              // "L", or "?L" for what it is asked without doing it
  std::map<std::string, std::string> refuse;  // by what is told
  std::set<std::string> dead;
  std::vector<std::string> log;
  // Of who is told; throws as a refusal.
  std::function<void(const std::string& name, const ordered_json& request)> check =
      [](const std::string&, const ordered_json&) {};
  PathSetter setter{file, watch,
                    [this](const std::string& socket, const ordered_json& request) {
                      return answer(socket.substr(5, 1), request);
                    },
                    [this](const std::string& line) { log.push_back(line); }};

  ordered_json answer(const std::string& name, const ordered_json& request) {
    if (dead.contains(name)) throw std::runtime_error("no process listens");
    if (request["command"] == "show") {
      ordered_json rows = ordered_json::array();
      for (const int id : {0, 1, 2})
        rows.push_back({{"id", id},
                        {"port", std::to_string(id)},
                        {"paths", pinned[name + std::to_string(id)]}});
      return rows;
    }
    const bool dry = request["dry_run"] == true;
    told.push_back((dry ? "?" : "") + name);
    if (refuse.contains(told.back())) throw std::runtime_error(refuse[told.back()]);
    check(name, request);
    for (const auto& [key, value] : request["values"].items()) {
      if (dry || !key.starts_with("switches." + name + ".ports.")) continue;
      auto& list = pinned[name + key.substr(17, 1)];
      list.clear();
      for (const char* const to : {kTo, "10.0.0.3/32"})
        if (value.get<std::string>().find(to) != std::string::npos) list.emplace_back(to);
    }
    return {};
  }
  std::vector<std::string> pins() {
    std::vector<std::string> at;
    for (const auto& [port, list] : pinned)
      if (!list.empty()) at.push_back(port);
    return at;
  }
  void by_a() {
    for (const char* const port : {"L1", "A1", "R2"}) pinned[port] = {kTo};
    setter.look();
  }
  ordered_json row() { return ordered_json::parse(watch.paths_json()).at(0); }
};

TEST_F(Paths, C7_ThePathMovesDownstreamFirstAndTheOldOneIsTakenBackLater) {
  by_a();
  EXPECT_TRUE(row()["installed"]);
  EXPECT_EQ(row()["destinations"], ordered_json::array({kTo}));
  setter.carry_out({0, kByB});
  EXPECT_THAT(told, ElementsAre("?R", "?B", "?L", "A", "R", "B", "L"));
  EXPECT_THAT(pins(), ElementsAre("A1", "B1", "L2", "R2")) << "frames may be on the way by A";
  EXPECT_THAT(log, ElementsAre("10.0.0.2/32 by L -2-> B -1-> R -2-> work: set"));
  told.clear();
  setter.look();
  EXPECT_THAT(told, IsEmpty());
  setter.look();
  EXPECT_THAT(told, ElementsAre("A", "L", "B", "R"));
  EXPECT_THAT(pins(), ElementsAre("B1", "L2", "R2"));
  told.clear();
  setter.look();
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(Paths, C7_AServerThatStartsFollowsThePathInForce) {
  telemetry::RecordTable table{{}, {}};
  EXPECT_THAT(decisions_by(watch, table, Instant()), IsEmpty()) << "no switch has said its paths";
  for (const char* const port : {"L2", "B1", "R2"}) pinned[port] = {kTo};
  setter.look();
  for (const auto& decision : decisions_by(watch, table, Instant())) EXPECT_EQ(decision.from, "A");
  EXPECT_EQ(row()["path"], "L -2-> B -1-> R -2-> work");
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(Paths, AServerThatEndsDecidesNoFurtherPath) {
  telemetry::RecordTable table{{}, {}};
  watch.end();
  EXPECT_THAT(decisions_by(watch, table, Instant()), IsEmpty()) << "A's would be one";
}

TEST_F(Paths, C7_TheFirstPathIsDecidedOnceTheSwitchesAnswer) {
  dead = {"L"};
  setter.look();
  setter.look();
  EXPECT_THAT(log, ElementsAre("L: does not say its paths; nothing is set"));
  telemetry::RecordTable table{{}, {}};
  ASSERT_EQ(decisions_by(watch, table, Instant()).size(), 1u) << "A's path alone";
  dead.clear();
  setter.look();
  const auto decisions = decisions_by(watch, table, Instant());
  ASSERT_EQ(decisions.size(), 1u);
  ASSERT_TRUE(decisions[0].order);
  EXPECT_EQ(decisions[0].order->links, kByA);
  EXPECT_THAT(decisions[0].explanation, HasSubstr("  L -2-> B -1-> R -2-> work: "));
  setter.carry_out(*decisions[0].order);
  EXPECT_THAT(pins(), ElementsAre("A1", "L1", "R2"));
  EXPECT_TRUE(row()["installed"]);
}

TEST_F(Paths, C7_ARefusalLeavesTheOldPath) {
  by_a();
  refuse["?L"] = "the way of 10.0.0.2/32 is a cycle: L -> B -> L";
  setter.carry_out({0, kByB});
  setter.carry_out({0, kByB});
  EXPECT_THAT(pins(), ElementsAre("A1", "L1", "R2"));
  EXPECT_THAT(log, ElementsAre("10.0.0.2/32 by L -2-> B -1-> R -2-> work: not set, L: the way of "
                               "10.0.0.2/32 is a cycle: L -> B -> L"));
  told.clear();
  setter.look();
  setter.look();
  EXPECT_THAT(told, IsEmpty());
  EXPECT_TRUE(row()["installed"]) << "the old one";
}

TEST_F(Paths, C7_AnOldAndANewPathThatMakeACycleTogetherAreRefused) {
  by_a();
  pinned["B0"] = {"10.0.0.0/8"};
  setter.carry_out({0, kByB});
  EXPECT_THAT(told, IsEmpty());
  EXPECT_THAT(log, ElementsAre(HasSubstr("together are a cycle: L -> B -> L")));
}

TEST_F(Paths, ASwitchThatFailsInBetweenIsToldAgain) {
  by_a();
  refuse["L"] = "busy";
  setter.carry_out({0, kByB});
  EXPECT_THAT(pins(), ElementsAre("A1", "B1", "L1", "R2")) << "the old path works";
  EXPECT_FALSE(row()["installed"]);
  setter.look();
  refuse.clear();
  setter.look();
  EXPECT_THAT(pins(), ElementsAre("A1", "B1", "L2", "R2"));
  EXPECT_TRUE(row()["installed"]);
  setter.look();
  EXPECT_THAT(pins(), ElementsAre("B1", "L2", "R2"));
}

TEST_F(Paths, C7_ADeadSwitchOfTheOldPathHoldsNothingUp) {
  by_a();
  dead = {"A"};
  setter.carry_out({0, kByB});
  setter.look();
  setter.look();
  EXPECT_THAT(pins(), ElementsAre("A1", "B1", "L2", "R2"));
  EXPECT_TRUE(row()["installed"]);
  dead.clear();
  setter.look();
  EXPECT_THAT(pins(), ElementsAre("B1", "L2", "R2"));
}

TEST_F(Paths, C7_ANewPathThroughADeadSwitchIsNotTaken) {
  by_a();
  dead = {"B"};
  setter.carry_out({0, kByB});
  EXPECT_THAT(told, IsEmpty());
  EXPECT_THAT(log, ElementsAre(HasSubstr("not set, B: does not say its paths")));
}

TEST_F(Paths, ASwitchThatHasLostItsPathsGetsThemAllBack) {
  by_a();
  setter.carry_out({1, {4, 8}});
  EXPECT_THAT(pinned["A1"], ElementsAre(kTo, "10.0.0.3/32"));
  pinned["A1"].clear();
  told.clear();
  setter.look();
  EXPECT_THAT(pins(), ElementsAre("A1", "L1", "R2"));
  EXPECT_THAT(pinned["A1"], ElementsAre(kTo, "10.0.0.3/32"));
  EXPECT_THAT(pinned["R2"], ElementsAre(kTo, "10.0.0.3/32"));
}

// The same switches to themselves: R hangs on A, and might on B; both are on L.
constexpr const char* kTopology =
    "switches:\n"
    "  - {name: L, id: 1, address: 10.0.9.1,\n"
    "     ports: [{name: '1', devargs: d1}, {name: '2', devargs: d2}, {name: '0', devargs: d0}]}\n"
    "  - {name: A, id: 2, address: 10.0.9.2, parent: L, parent_port: '1', uplink: '0',\n"
    "     ports: [{name: '0', devargs: d0}, {name: '1', devargs: d1}], aggregate: false}\n"
    "  - {name: B, id: 3, address: 10.0.9.3, parent: L, parent_port: '2', uplink: '0',\n"
    "     ports: [{name: '0', devargs: d0}, {name: '1', devargs: d1}], aggregate: false}\n"
    "  - {name: R, id: 4, address: 10.0.9.4, parent: A, parent_port: '1', uplink: '0',\n"
    "     other_uplinks: [{parent: B, parent_port: '1', uplink: '1'}],\n"
    "     ports: [{name: '0', devargs: d0}, {name: '1', devargs: d1}, {name: '2', devargs: d2}]}\n"
    "workers:\n"
    "  - {name: main, switch: L, port: '0', address: 10.0.0.1}\n"
    "  - {name: work, switch: R, port: '2', address: 10.0.0.2}\n"
    "jobs:\n"
    "  - {id: 1, workers: 2}\n";

// Switches that look for loops in what they have been told, as the real ones do.
class PathsWithLoopsLookedFor : public Paths {
 protected:
  std::map<std::string, std::map<std::string, std::string>> overlay;

  void SetUp() override {
    check = [this](const std::string& name, const ordered_json& request) {
      auto next = overlay[name];
      for (const auto& [key, value] : request["values"].items())
        next[key] = value.get<std::string>();
      config::Document document = config::parse_document(kTopology, "t.yaml", name);
      for (const auto& [key, value] : next)
        config::put_value(document, config::find_place(document, key),
                          config::parse_value(key, value));
      config::switch_config(document);
      if (request["dry_run"] != true) overlay[name] = next;
    };
  }
  void restart(const std::string& name) {
    overlay[name].clear();
    for (const char* const port : {"0", "1", "2"}) pinned[name + port].clear();
  }
};

TEST_F(PathsWithLoopsLookedFor, C7_ASwitchThatRestartedIsToldTheWholePath) {
  setter.look();
  setter.carry_out({0, kByB});
  EXPECT_THAT(pins(), ElementsAre("B1", "L2", "R2"));
  for (const char* const name : {"L", "B", "R"}) {
    restart(name);
    setter.look();
    EXPECT_THAT(pins(), ElementsAre("B1", "L2", "R2")) << name;
    EXPECT_TRUE(row()["installed"]) << name;
  }
  EXPECT_THAT(log, Each(HasSubstr(": set")));
}

TEST_F(PathsWithLoopsLookedFor, C7_ASwitchThatMissedAMoveIsToldWhatIsPinnedNoMore) {
  by_a();
  setter.carry_out({1, {4, 8}});  // A's own path, so that it is told
  dead = {"A"};
  setter.carry_out({0, kByB});
  dead.clear();
  restart("A");
  pinned["A1"] = {kTo};  // as its file says
  overlay["A"]["switches.L.ports.1.paths"] = std::string("[") + kTo + "]";
  setter.look();
  setter.look();
  EXPECT_THAT(pinned["A1"], ElementsAre("10.0.0.3/32"));
  EXPECT_EQ(overlay["A"]["switches.L.ports.1.paths"], "[]");
  EXPECT_EQ(overlay["A"]["switches.L.ports.2.paths"], "[\"10.0.0.2/32\"]");
}

}  // namespace
}  // namespace tributary::telemetryd
