// Trees that move: what probes say, what is decided, and what switches are told (C7).
#include "tools/telemetryd/tree_mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <stdexcept>

#include "telemetry/wire/report.h"
#include "tests/telemetryd/diamond.h"

namespace tributary::telemetryd {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Trees : public testing::Test {
 protected:
  const NetworkFile file = parse_network(kDiamond, "n.yaml");
  PathWatch paths{file};
  telemetry::RecordTable table{{}, {}};
  Instant now = Instant::from_ns(1'000'000'000);
  std::string uplink = "a";  // that R says it uses
  // "B", or "?B" for what it is asked without doing it; "B=a" where it is not about way b.
  std::vector<std::string> told;
  std::map<std::string, std::string> refuse;  // by what is told
  bool is_late = false;                       // R does what it is said to refuse
  std::vector<std::string> log;
  TreeMover mover{file, paths,
                  [this](const std::string& socket, const ordered_json& request) {
                    return answer(socket, request);
                  },
                  [this](const std::string& line) { log.push_back(line); }};

  ordered_json answer(const std::string& socket, const ordered_json& request) {
    const std::string name = socket.substr(5, 1);
    if (request["command"] == "show") {
      if (refuse.contains("show")) throw std::runtime_error(refuse["show"]);
      ordered_json rows = ordered_json::array();
      if (!uplink.empty()) rows.push_back({{"is", "parent"}, {"port", uplink}});
      rows.push_back({{"is", "worker"}, {"port", "w"}});
      return rows;
    }
    EXPECT_EQ(request["command"], "set");
    const std::string what = (request["dry_run"] == true ? "?" : "") + name;
    const std::string to = request["values"]["switches.R.active_uplink"];
    told.push_back(what + (to == "a" ? "=a" : ""));
    if (what == "R" && (is_late || !refuse.contains(what))) uplink = to;
    if (refuse.contains(what)) throw std::runtime_error(refuse[what]);
    return {{"keys", ordered_json::array()}};
  }
  // Each link's ends say so; 0 ns: nothing is said.
  void probe(std::uint32_t by_a_ns, std::uint32_t by_b_ns) {
    for (const auto& [node, port, ns] :
         {std::tuple(1u, 1, by_a_ns), std::tuple(2u, 0, by_a_ns), std::tuple(2u, 1, by_a_ns),
          std::tuple(4u, 0, by_a_ns), std::tuple(1u, 2, by_b_ns), std::tuple(3u, 0, by_b_ns),
          std::tuple(3u, 1, by_b_ns), std::tuple(4u, 1, by_b_ns)}) {
      if (ns == 0) continue;
      std::array<std::byte, 100> datagram;
      telemetry::ReportWriter writer({0, sequence_[node]++, node}, datagram);
      telemetry::Report report;
      report.bitmap = telemetry::kPorts;
      telemetry::Hop hop;
      hop.egress_port = static_cast<std::uint16_t>(port);
      ASSERT_TRUE(writer.add(report, hop, {.link_latency = ns}));
      table.take(std::span(datagram).first(writer.length()), now);
    }
  }
  // A look each 100 ms; the moves that were decided.
  std::vector<PathWatch::TreeMove> look(int times, std::uint32_t by_a_ns, std::uint32_t by_b_ns) {
    std::vector<PathWatch::TreeMove> moves;
    for (int i = 0; i < times; ++i, now = now + Duration::ms(100)) {
      probe(by_a_ns, by_b_ns);
      for (const auto& decision : decisions_by(paths, table, now))
        if (decision.move) moves.push_back(*decision.move);
    }
    return moves;
  }
  ordered_json row() { return ordered_json::parse(paths.paths_json()).at(0); }

 private:
  std::map<std::uint32_t, std::uint32_t> sequence_;
};

constexpr std::uint32_t kGood = 50'000;
constexpr std::uint32_t kBad = 5'000'000;

TEST_F(Trees, C7_AWayThatBecomesBadIsLeftForTheOther) {
  mover.look();
  EXPECT_THAT(look(20, kGood, kGood), IsEmpty());
  EXPECT_EQ(row()["uplink"], "a");
  EXPECT_EQ(row()["path"], "R -0-> A -0-> L");
  EXPECT_EQ(row()["latency_us"], 100);
  const auto moves = look(3, kBad, kGood);
  ASSERT_EQ(moves.size(), 1u) << "the time to settle is two looks";
  EXPECT_EQ(moves[0].from, "a");
  EXPECT_EQ(moves[0].to, "b");
  EXPECT_TRUE(mover.carry_out(moves[0]));
  EXPECT_THAT(told, ElementsAre("?B", "?R", "?L", "B", "R", "L", "A"));
  EXPECT_THAT(log, ElementsAre("R to uplink b: moved from a"));
  mover.look();
  EXPECT_EQ(row()["uplink"], "b");
  EXPECT_THAT(look(20, kBad, kGood), IsEmpty());
  const auto decisions = ordered_json::parse(paths.decisions_json(now));
  EXPECT_THAT(decisions.at(0)["explanation"].get<std::string>(),
              HasSubstr("R -1-> B -0-> L: moved to a better one\n  R -1-> B -0-> L: 100 us"));
}

TEST_F(Trees, C7_TwoGoodWaysAreNotExchangedInTenMinutes) {
  mover.look();
  for (int i = 0; i < 3000; ++i)
    ASSERT_THAT(look(2, i % 2 == 0 ? 20'000 : 90'000, i % 2 == 0 ? 90'000 : 20'000), IsEmpty());
}

TEST_F(Trees, C7_NoFurtherMoveWithinTheHold) {
  mover.look();
  ASSERT_EQ(look(5, kBad, kGood).size(), 1u);
  uplink = "b";
  mover.look();
  EXPECT_THAT(look(40, kGood, kBad), IsEmpty());
  EXPECT_EQ(look(20, kGood, kBad).size(), 1u);
}

TEST_F(Trees, C7_ALinkThatDoesNotAnswerIsLeft) {
  mover.look();
  look(3, kGood, kGood);
  EXPECT_EQ(look(5, telemetry::kUnknown32, kGood).size(), 1u);
}

TEST_F(Trees, SilenceAboutEverythingMovesNothing) {
  mover.look();
  look(3, kGood, kGood);
  EXPECT_THAT(look(100, 0, 0), IsEmpty());
}

TEST_F(Trees, LatencyInSwitchesIsNoReason) {
  mover.look();
  for (int i = 0; i < 20; ++i) {
    std::array<std::byte, 100> datagram;
    telemetry::ReportWriter writer({1, static_cast<std::uint32_t>(i), 2}, datagram);
    telemetry::Report report;
    report.bitmap = telemetry::kPorts | telemetry::kHopLatency;
    telemetry::Hop hop;
    hop.egress_port = 0;
    hop.latency_ns = kBad;
    ASSERT_TRUE(writer.add(report, hop));
    table.take(std::span(datagram).first(writer.length()), now);
    EXPECT_THAT(look(1, kGood, kGood), IsEmpty());
  }
  const auto from_a = [&] { return ordered_json::parse(paths.network_json())["links"][1]; };
  EXPECT_EQ(from_a()["latency_ns"], kBad + kGood);
  look(110, kGood, kGood);
  EXPECT_EQ(from_a()["latency_ns"], kGood) << "probes keep no packet's latency alive";
}

TEST_F(Trees, NothingIsDecidedBeforeTheSwitchHasSaidWhatItUses) {
  uplink = "";  // no job's sums go up
  mover.look();
  EXPECT_THAT(look(20, kBad, kGood), IsEmpty());
  refuse["show"] = "no process listens";
  mover.look();
  mover.look();
  EXPECT_THAT(log, ElementsAre("R: which way up it uses is not known: no process listens"));
}

TEST_F(Trees, WhatAnOperatorSetsIsFollowed) {
  mover.look();
  look(3, kGood, kGood);
  uplink = "b";
  mover.look();
  EXPECT_THAT(look(20, kGood, kGood), IsEmpty());
  EXPECT_EQ(row()["path"], "R -1-> B -0-> L");
  uplink = "elsewhere";  // is in no network file
  mover.look();
  EXPECT_EQ(row()["uplink"], "b");
}

TEST_F(Trees, AMoveThatOneSwitchRefusesIsNotBegun) {
  mover.look();
  const auto moves = look(5, kBad, kGood);
  ASSERT_EQ(moves.size(), 1u);
  refuse["?L"] = "busy";
  EXPECT_FALSE(mover.carry_out(moves[0]));
  EXPECT_FALSE(mover.carry_out(moves[0]));
  EXPECT_THAT(told, ElementsAre("?B", "?R", "?L", "?B", "?R", "?L"));
  EXPECT_THAT(log, ElementsAre("R to uplink b: not moved, L: busy"));
}

TEST_F(Trees, ARefusalIsToldOnceForEachReason) {
  const PathWatch::TreeMove move{0, "a", "b"};
  const auto refused = [&](const char* why) {
    refuse["?L"] = why;
    EXPECT_FALSE(mover.carry_out(move));
    mover.look();
  };
  mover.look();
  for (const char* why : {"busy", "busy", "no room"}) refused(why);
  EXPECT_THAT(log, ElementsAre("R to uplink b: not moved, L: busy",
                               "R to uplink b: not moved, L: no room"));
  refuse.clear();
  EXPECT_TRUE(mover.carry_out(move));
  refused("no room");
  EXPECT_EQ(log.size(), 4u) << "it had been moved in between";
}

TEST_F(Trees, AMoveThatTheSwitchItselfDoesNotTakeIsDecidedAgain) {
  mover.look();
  auto moves = look(5, kBad, kGood);
  ASSERT_EQ(moves.size(), 1u);
  refuse["R"] = "the packet loop did not answer";
  EXPECT_FALSE(mover.carry_out(moves[0]));
  EXPECT_THAT(told, ElementsAre("?B", "?R", "?L", "B", "R")) << "the old way stays open";
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(log, ElementsAre(HasSubstr("not moved, R: the packet loop")));
  refuse.clear();
  told.clear();
  mover.look();  // it says that it uses the old one
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(told, ElementsAre("A=a", "B=a", "L=a")) << "B knew better";
  moves = look(60, kBad, kGood);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_TRUE(mover.carry_out(moves[0]));
}

// A is dead: it is on the way that R leaves.
TEST_F(Trees, C7_ADeadSwitchIsLeftAndToldOnceItIsBack) {
  mover.look();
  look(3, kGood, kGood);
  const auto moves = look(1, telemetry::kUnknown32, kGood);
  ASSERT_EQ(moves.size(), 1u) << "at once";
  refuse["?A"] = refuse["A"] = "no process listens";
  EXPECT_TRUE(mover.carry_out(moves[0]));
  EXPECT_EQ(uplink, "b");
  EXPECT_FALSE(mover.finish());
  refuse.clear();
  mover.look();
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(told, ElementsAre("?B", "?R", "?L", "B", "R", "L", "A", "A", "A"));
}

// It would be decided anew at each look.
TEST_F(Trees, C7_AMoveOffADeadWayThatIsRefusedIsTriedAgainAfterTheHold) {
  mover.look();
  look(3, kGood, kGood);
  refuse["?L"] = "busy";
  std::size_t tries = 0;
  for (int i = 0; i < 112; ++i) {
    for (const auto& move : look(1, telemetry::kUnknown32, kGood)) {
      ++tries;
      EXPECT_FALSE(mover.carry_out(move));
    }
    mover.look();  // R uses the dead way still
    EXPECT_EQ(row()["uplink"], "a");
  }
  EXPECT_EQ(tries, 3u) << "hold is 5 s, and these were 11 s";
  refuse.clear();
  const auto moves = look(51, telemetry::kUnknown32, kGood);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_TRUE(mover.carry_out(moves[0]));
}

TEST_F(Trees, ASwitchThatFailsBehindTheMoveIsToldAgain) {
  mover.look();
  const auto moves = look(5, kBad, kGood);
  ASSERT_EQ(moves.size(), 1u);
  refuse["L"] = "busy";
  EXPECT_TRUE(mover.carry_out(moves[0]));
  EXPECT_FALSE(mover.finish());
  refuse.clear();
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(told, ElementsAre("?B", "?R", "?L", "B", "R", "L", "L", "L", "A"));
  EXPECT_THAT(log, ElementsAre("R to uplink b: not known everywhere yet, L: busy",
                               "R to uplink b: moved from a"));
}

TEST_F(Trees, AMoveThatIsRefusedLeavesWhatAnEarlierOneHasToTell) {
  mover.look();
  const auto moves = look(5, kBad, kGood);
  ASSERT_EQ(moves.size(), 1u);
  refuse["L"] = "busy";
  EXPECT_TRUE(mover.carry_out(moves[0]));
  refuse["?A"] = "busy";
  EXPECT_FALSE(mover.carry_out({0, "b", "a"}));
  refuse.clear();
  told.clear();
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(told, ElementsAre("L", "A"));
}

TEST_F(Trees, OthersAreToldWhatTheSwitchUsesWhenTheServerStarts) {
  uplink = "b";  // an earlier server ended in the middle of the move
  mover.look();
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(told, ElementsAre("A", "B", "L"));
  mover.look();
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(told, ElementsAre("A", "B", "L")) << "once";
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(Trees, AMoveWhoseAnswerCameTooLateIsEnded) {
  mover.look();
  const auto moves = look(5, kBad, kGood);
  ASSERT_EQ(moves.size(), 1u);
  refuse["R"] = "no answer";
  is_late = true;
  EXPECT_FALSE(mover.carry_out(moves[0]));
  told.clear();
  mover.look();
  EXPECT_TRUE(mover.finish());
  EXPECT_THAT(told, ElementsAre("A", "B", "L"));
  EXPECT_EQ(row()["uplink"], "b");
}

TEST_F(Trees, ASwitchThatCannotBeToldAgainHoldsNoOtherUp) {
  refuse["A"] = "no process listens";
  for (int i = 0; i < 3; ++i) {
    mover.look();
    EXPECT_FALSE(mover.finish());
    EXPECT_FALSE(mover.finish()) << "it is asked once after each look";
  }
  EXPECT_THAT(told, ElementsAre("A=a", "B=a", "L=a", "A=a", "A=a"));
  EXPECT_THAT(log, ElementsAre("R to uplink a: not known everywhere yet, A: no process listens"));
  refuse.clear();
  mover.look();
  EXPECT_TRUE(mover.finish());
}

// A manager, and what is asked of it.
struct ManagerBed {
  ordered_json answer(const std::string& method, const ordered_json& request) {
    if (!refusal.empty()) throw std::runtime_error(refusal);
    if (method == "Cluster.Topology") {
      ordered_json reply = {
          {"switches", {{{"name", "L"}, {"uplink", ""}}, {{"name", "R"}, {"uplink", uplink}}}}};
      if (!moving.empty()) reply["move"] = {{"name", moving}};
      return reply;
    }
    asked.push_back(method + " " + request.dump());
    return {{"name", "R"}, {"to", "b"}, {"waits_for", waits_for}};
  }
  // The way up that is followed; empty: none yet.
  std::string way() { return ordered_json::parse(paths.paths_json()).at(0).value("uplink", ""); }

  const NetworkFile file = parse_network(kDiamond, "n.yaml");
  PathWatch paths{file};
  std::string uplink = "a";
  std::string moving;
  std::string waits_for;
  std::string refusal;
  std::vector<std::string> asked;
  std::vector<std::string> log;
  ManagedTrees trees{file, paths,
                     [this](const std::string& method, const ordered_json& request) {
                       return answer(method, request);
                     },
                     [this](const std::string& line) { log.push_back(line); }};
};

TEST(ManagedTrees, C7_TheManagerIsAskedToMove) {
  ManagerBed bed;
  bed.trees.carry_out({0, "a", "b"});
  EXPECT_THAT(bed.asked, ElementsAre(R"(Cluster.Move {"name":"R","uplink":"b"})"));
  EXPECT_THAT(bed.log, ElementsAre("R to uplink b: moved from a"));
  bed.waits_for = "R";
  bed.trees.carry_out({0, "a", "b"});
  EXPECT_EQ(bed.log.back(), "R to uplink b: the manager moves it, and waits for R");
}

TEST(ManagedTrees, WhatTheManagerSaysIsUsedIsFollowed) {
  ManagerBed bed;
  EXPECT_EQ(bed.way(), "");
  bed.trees.look();
  EXPECT_EQ(bed.way(), "a");
  bed.uplink = "b";
  bed.moving = "R";
  bed.trees.look();
  EXPECT_EQ(bed.way(), "a") << "it is on its way";
  bed.moving = "";
  bed.trees.look();
  EXPECT_EQ(bed.way(), "b");
  EXPECT_THAT(bed.log, IsEmpty());
}

TEST(ManagedTrees, LooksInBetweenDoNotRepeatARefusal) {
  ManagerBed bed;
  const auto refused = [&](const char* why) {
    bed.refusal = why;
    bed.trees.carry_out({0, "a", "b"});
    bed.refusal = "";
    bed.trees.look();
  };
  for (const char* why : {"no room", "no room", "one move at a time"}) refused(why);
  EXPECT_THAT(bed.log, ElementsAre("R to uplink b: not moved, manager: no room",
                                   "R to uplink b: not moved, manager: one move at a time"));
  bed.trees.carry_out({0, "a", "b"});
  refused("one move at a time");
  EXPECT_EQ(bed.log.size(), 4u) << "it had been moved in between";
}

TEST(ManagedTrees, ARefusalIsToldOnceAndMovesNothing) {
  ManagerBed bed;
  bed.trees.look();
  bed.refusal = "no manager answers";
  for (int i = 0; i < 2; ++i) bed.trees.carry_out({0, "a", "b"});
  EXPECT_THAT(bed.log, ElementsAre("R to uplink b: not moved, manager: no manager answers"));
  for (int i = 0; i < 2; ++i) bed.trees.look();
  EXPECT_THAT(bed.log, ElementsAre("R to uplink b: not moved, manager: no manager answers",
                                   "which ways up are used is not known: manager: no manager "
                                   "answers"));
  EXPECT_EQ(bed.way(), "a");
  bed.refusal = "";
  bed.trees.look();
  bed.refusal = "gone again";
  bed.trees.look();
  EXPECT_EQ(bed.log.size(), 3u);
}

}  // namespace
}  // namespace tributary::telemetryd
