// Requests of the agent to a switch: the newest document alone, again until it is in force.
#include "tools/agentd/local_switch.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>

#include "config/text/file.h"
#include "tests/manager/store/scratch.h"

namespace tributary::agentd {
namespace {

using client::ControlError;
using client::Json;
using testing::ElementsAre;
using testing::HasSubstr;

// A switch that answers as tributary-switchd does.
struct FakeSwitch {
  Json answer(const Json& request) {
    if (away) throw ControlError("nobody listens");
    if (request["command"] == "assign") {
      assigned.push_back(config::read_file(request["file"].get<std::string>()));
      if (!refusal.empty()) throw ControlError("tributary-switchd refused: " + refusal);
      version = wanted;
      if (is_disk_full) throw ControlError("tributary-switchd refused: taken; but no space left");
      return Json::object();
    }
    if (request["command"] == "exclude" || request["command"] == "reinstate") {
      if (!refusal.empty()) throw ControlError("tributary-switchd refused: " + refusal);
      ruled.push_back(request["command"].get<std::string>() + " " + request["job"].dump() + " " +
                      request["rank"].dump());
      return Json::object();
    }
    if (request["command"] == "place-host") {
      if (!refusal.empty()) throw ControlError("tributary-switchd refused: " + refusal);
      ruled.push_back(request.dump());
      return Json::object();
    }
    if (request["what"] == "config") return config;
    if (nonsense) return *nonsense;
    if (request["what"] == "jobs")
      return Json::array({Json{{"job", 7u}, {"present", 2u}}, Json{{"job", 7u}, {"present", 3u}}});
    if (request["what"] == "stragglers") return stragglers;
    if (request["what"] == "hosts") return hosts;
    if (request["what"] == "ports") return ports;
    if (request["what"] == "lldp") return lldp;
    if (version.term == 0) return Json::array();
    return Json::array(
        {Json{{"term", version.term}, {"revision", version.revision}, {"kept", !is_disk_full}}});
  }

  Json stragglers = Json::array();
  Json hosts = Json::array();
  Json ports = Json::array();
  Json lldp = Json::array();
  std::optional<Json> nonsense;  // the answer to every question
  bool away = false;
  bool is_disk_full = false;  // what is assigned is in force, and a restart would not know it
  std::string refusal;
  std::string config =
      "switch:\n  name: A\n  address: 10.0.0.11\nports:\n  - {name: p0, devargs: net_null0}\n";
  config::Version version;
  config::Version wanted;
  std::vector<std::string> assigned;
  std::vector<std::string> ruled;
};

struct Bed {
  void desire(std::uint64_t term, std::uint64_t revision) {
    fake.wanted = {term, revision};
    local.desire({{term, revision}, std::to_string(term) + "/" + std::to_string(revision)});
  }
  manager::Scratch scratch;
  FakeSwitch fake;
  Instant now = Instant::from_ns(1'000'000'000);
  LocalSwitch local{[this](const Json& request) { return fake.answer(request); },
                    std::filesystem::path(scratch.file()).parent_path(), [this] { return now; }};
  // As many steps as are between two looks at the hosts.
  manager::SwitchReport look() {
    manager::SwitchReport report;
    do report = local.step();
    while (!report.seats);
    return report;
  }
};

TEST(LocalSwitch, SaysWhatItIs) {
  Bed bed;
  const auto registration = bed.local.look();
  EXPECT_EQ(registration.name, "A");
  EXPECT_EQ(registration.address, "10.0.0.11");
  EXPECT_THAT(registration.ports, ElementsAre("p0"));
  EXPECT_GT(registration.slots, 0u);
  bed.fake.config = "nonsense";
  EXPECT_THROW(bed.local.look(), ControlError);
}

TEST(LocalSwitch, OnlyTheNewestDocumentIsApplied) {
  Bed bed;
  bed.local.look();
  EXPECT_EQ(bed.local.step().applied, config::Version());
  bed.desire(1, 3);
  bed.desire(1, 5);
  bed.local.desire({{1, 4}, "1/4"});
  const auto report = bed.local.step();
  EXPECT_THAT(bed.fake.assigned, ElementsAre("1/5"));
  EXPECT_EQ(report.applied, (config::Version{1, 5}));
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.jobs.at(7), 3u);  // of all planes
  bed.local.step();
  EXPECT_EQ(bed.fake.assigned.size(), 1u);
}

TEST(LocalSwitch, ASwitchThatStartsAnewGetsItAgain) {
  Bed bed;
  bed.local.look();
  bed.desire(1, 1);
  bed.local.step();
  bed.fake.version = {};
  bed.local.step();
  EXPECT_THAT(bed.fake.assigned, ElementsAre("1/1", "1/1"));
}

TEST(LocalSwitch, WhatIsInForceButNotOnDiskIsNoRefusalAndIsAssignedAgain) {
  Bed bed;
  bed.local.look();
  bed.desire(1, 2);
  bed.fake.is_disk_full = true;
  for (int step = 0; step < 2; ++step) {
    const auto report = bed.local.step();
    EXPECT_FALSE(report.refused);
    EXPECT_THAT(report.problem, HasSubstr("no space left"));
    EXPECT_EQ(report.applied, config::Version()) << "a restart would undo it";
  }
  bed.fake.is_disk_full = false;
  bed.local.step();
  EXPECT_EQ(bed.fake.assigned.size(), 2u);
  EXPECT_EQ(bed.local.step().applied, (config::Version{1, 2}));
}

TEST(LocalSwitch, ARefusalIsReportedAndTriedAgain) {
  Bed bed;
  bed.local.look();
  bed.desire(1, 2);
  bed.fake.refusal = "needs 64 slots";
  auto report = bed.local.step();
  EXPECT_TRUE(report.refused);
  EXPECT_EQ(report.refused_revision, 2u);
  EXPECT_EQ(report.problem, "needs 64 slots");
  bed.fake.refusal = "busy: another change of the configuration is under way; try again";
  EXPECT_FALSE(bed.local.step().refused);
  bed.fake.refusal = "";
  report = bed.local.step();
  EXPECT_EQ(report.applied, (config::Version{1, 2}));
  EXPECT_EQ(report.problem, "");
}

TEST(LocalSwitch, ADocumentOfALaterManagerIsLeftInForce) {
  Bed bed;
  bed.local.look();
  bed.fake.version = {4, 1};
  bed.desire(3, 9);
  const auto report = bed.local.step();
  EXPECT_TRUE(bed.fake.assigned.empty());
  EXPECT_THAT(report.problem, HasSubstr("term 4, revision 1"));
  EXPECT_FALSE(report.refused);
}

TEST(LocalSwitch, T13_ExcludesWhomTheManagerNamesAndNoOthers) {
  Bed bed;
  const auto row = [](std::uint32_t job, std::uint32_t rank, const char* excluded) {
    return Json{{"job", job}, {"node", "rank"}, {"ranks", {rank}}, {"excluded", excluded}};
  };
  bed.fake.stragglers = Json::array({row(7, 0, "from op 9"), row(7, 1, ""), row(7, 1, ""),
                                     row(7, 2, "from op 3 to op 8"), row(8, 0, "from op 9")});
  bed.local.look();
  bed.fake.version = {1, 4};
  // Job 8 is none of the manager's.
  bed.local.desire({{1, 4}, "", {{7, {1}}}});
  bed.local.step();
  EXPECT_THAT(bed.fake.ruled, ElementsAre("reinstate 7 0", "exclude 7 1"));
  EXPECT_TRUE(bed.fake.assigned.empty());
}

TEST(LocalSwitch, T13_ARefusedExclusionIsReported) {
  Bed bed;
  bed.fake.stragglers = Json::array({{{"job", 7u}, {"ranks", {1u}}}});
  bed.local.look();
  bed.fake.version = {1, 4};
  bed.local.desire({{1, 4}, "", {{7, {1}}}});
  bed.fake.refusal = "no child would be left";
  const auto report = bed.local.step();
  EXPECT_EQ(report.problem, "exclude: no child would be left");
  EXPECT_FALSE(report.refused);
  // It stays in steps without a look at the children: no problem that comes and goes.
  bool looked = false;
  while (!looked) {
    const auto next = bed.local.step();
    EXPECT_EQ(next.problem, report.problem);
    looked = next.lateness.has_value();
  }
  bed.fake.refusal = "";
  std::string problem = report.problem;
  for (int step = 0; step < 4; ++step) problem = bed.local.step().problem;
  EXPECT_EQ(problem, "");
}

TEST(LocalSwitch, T13_AnOlderManagerExcludesNobody) {
  Bed bed;
  bed.fake.stragglers = Json::array({{{"job", 7u}, {"ranks", {1u}}}});
  bed.local.look();
  bed.fake.version = {2, 1};
  bed.local.desire({{1, 4}, "", {{7, {1}}}});
  bed.local.step();
  EXPECT_TRUE(bed.fake.ruled.empty());
}

TEST(LocalSwitch, T13_ReportsHowLateChildrenAre) {
  Bed bed;
  bed.fake.stragglers = Json::array({{{"job", 7u},
                                      {"node", "rank 3"},
                                      {"ranks", {3u}},
                                      {"mean_ms", 41.5},
                                      {"max_ms", 80},
                                      {"ops", 8u},
                                      {"first", 0u},
                                      {"last", 7u},
                                      {"missed_deadlines", 2u},
                                      {"excluded", "from op 9"}},
                                     {{"job", 7u}, {"node", "switch 2"}, {"ranks", {4u, 5u}}},
                                     {{"job", "seven"},
                                      {"ranks", "all"},
                                      {"first", nullptr},
                                      {"last", -1},
                                      {"excluded", nullptr}}});
  bed.local.look();
  const auto report = bed.local.step();
  ASSERT_TRUE(report.lateness);
  ASSERT_EQ(report.lateness->size(), 3u);
  const manager::Lateness& rank = report.lateness->at(0);
  EXPECT_EQ(rank.job, 7u);
  EXPECT_THAT(rank.ranks, ElementsAre(3));
  EXPECT_FALSE(rank.is_switch);
  EXPECT_EQ(rank.mean_ms, 41.5);
  EXPECT_EQ(rank.max_ms, 80);
  EXPECT_EQ(rank.ops, 8u);
  EXPECT_EQ(rank.missed_deadlines, 2u);
  EXPECT_EQ(rank.excluded, "from op 9");
  EXPECT_EQ(rank.first, 0u);
  EXPECT_EQ(rank.last, 7u);
  EXPECT_EQ(report.lateness->at(1).last, std::nullopt);
  EXPECT_EQ(report.lateness->at(2).first, std::nullopt);
  EXPECT_EQ(report.lateness->at(2).last, std::nullopt);
  EXPECT_TRUE(report.lateness->at(1).is_switch);
  EXPECT_EQ(report.lateness->at(2).job, 0u);  // no such job: the manager leaves it out
  EXPECT_FALSE(bed.local.step().lateness);    // as before: a look at every child costs more
}

TEST(LocalSwitch, T11_TheRootIsToldHowToRankItsHosts) {
  Bed bed;
  const auto seat = [](std::uint32_t job, const char* host, const char* chosen) {
    return Json{
        {"job", job}, {"shard", 0u}, {"host", host}, {"state", "serving"}, {"chosen", chosen}};
  };
  bed.fake.hosts = Json::array({seat(7, "A", "policy"), seat(8, "A", "policy")});
  bed.local.look();
  bed.fake.version = {1, 4};
  // Job 8 is none of the manager's, and this switch is not the root of job 9.
  const auto desire = [&](std::uint32_t load) {
    bed.local.desire({{1, 4}, "", {}, {{7, {{{"A", load}, {"B", 2}}, {}}}, {9, {{}, {"C"}}}}});
  };
  desire(90);
  const auto report = bed.look();
  ASSERT_EQ(report.seats->size(), 2u);
  EXPECT_EQ(report.seats->at(0),
            (manager::HostSeat{
                .job = 7, .shard = 0, .host = "A", .state = "serving", .chosen = "policy"}));
  const char* const told =
      R"({"command":"place-host","job":7,"loads":{"A":90,"B":2},"candidates":[]})";
  EXPECT_THAT(bed.fake.ruled, ElementsAre(told));
  bed.fake.hosts = Json::array({seat(7, "B", "requested")});
  bed.look();
  EXPECT_EQ(bed.fake.ruled.size(), 1u) << "it has been told";
  bed.fake.hosts = Json::array({seat(7, "A", "policy")});
  bed.look();
  EXPECT_THAT(bed.fake.ruled, ElementsAre(told, told)) << "it has forgotten that";
  bed.fake.hosts = Json::array({seat(7, "A", "gone")});
  bed.look();
  EXPECT_EQ(bed.fake.ruled.size(), 2u) << "the one before has died";
  desire(1);
  bed.fake.refusal = "job 7: its completion hosts are not placed here";
  EXPECT_EQ(bed.look().problem, "place-host: job 7: its completion hosts are not placed here");
  bed.fake.refusal = "";
  EXPECT_EQ(bed.look().problem, "");
  EXPECT_EQ(bed.fake.ruled.size(), 3u);
}

TEST(LocalSwitch, T11_AnOlderManagerRanksNoHosts) {
  Bed bed;
  bed.fake.hosts = Json::array({Json{{"job", 7u}, {"host", "A"}, {"chosen", "policy"}}});
  bed.local.look();
  bed.fake.version = {2, 1};
  bed.local.desire({{1, 4}, "", {}, {{7, {{{"A", 1}}, {}}}}});
  bed.look();
  EXPECT_TRUE(bed.fake.ruled.empty());
}

TEST(LocalSwitch, T11_SaysWhatPassesItsPortsPerSecond) {
  Bed bed;
  const auto ports = [](std::uint64_t in, std::uint64_t out) {
    return Json::array({Json{{"rx_bytes", in}, {"tx_bytes", out}}, Json{{"rx_bytes", 0u}}});
  };
  bed.fake.ports = ports(1000, 500);
  bed.local.look();
  EXPECT_EQ(bed.local.step().load, std::nullopt) << "since when?";
  bed.now = bed.now + Duration::ms(500);
  EXPECT_EQ(bed.local.step().load, std::nullopt) << "too soon";
  bed.now = bed.now + Duration::ms(1500);
  bed.fake.ports = ports(7000, 4500);
  EXPECT_EQ(bed.local.step().load, 5000u);
  bed.now = bed.now + Duration::seconds(2);
  bed.fake.ports = ports(10, 10);
  EXPECT_EQ(bed.local.step().load, std::nullopt) << "the switch has begun anew";
}

TEST(LocalSwitch, T20_SaysWhomItsPortsHearAtEachLook) {
  Bed bed;
  bed.local.look();
  bed.fake.lldp = Json::array(
      {Json{{"port", "up"}, {"system", "root"}, {"its_port", "a"}}, Json{{"port", "p0"}}});
  EXPECT_EQ(bed.local.step().neighbours,
            (std::vector<manager::Neighbour>{{"up", "root", "a"}, {"p0", "", ""}}));
  EXPECT_EQ(bed.local.step().neighbours, std::nullopt) << "as before";
  bed.fake.lldp = Json::array();
  std::optional<std::vector<manager::Neighbour>> heard;
  while (!heard) heard = bed.local.step().neighbours;
  EXPECT_TRUE(heard->empty());
}

TEST(LocalSwitch, OneThatIsAwayIsNoRefusal) {
  Bed bed;
  bed.local.look();
  bed.fake.away = true;
  bed.desire(1, 1);
  EXPECT_THROW(bed.local.step(), ControlError);
}

TEST(LocalSwitch, AnswersThatMeanNothingAreNone) {
  Bed bed;
  bed.local.look();
  for (const char* text : {"null", "7", "\"text\"", "[7]", "[[1]]", "[null]", "{\"a\": 1}",
                           R"([{"kept": "no", "term": "x", "revision": -1}])",
                           R"([{"job": {}, "present": [], "ranks": [null, -1, "a"]}])"}) {
    bed.fake.nonsense = Json::parse(text);
    EXPECT_EQ(bed.local.step().applied, config::Version()) << text;
  }
}

}  // namespace
}  // namespace tributary::agentd
