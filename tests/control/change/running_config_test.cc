// Keys that were set, and the file under them: values that are applied, refused or dropped.
#include "control/change/running_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "config/load/load.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr config::BufferRoom kRoom = {2048, 8192};
constexpr const char* kFile =
    "switch: {address: 10.77.0.254}\n"
    "ports:\n"
    "  - {name: a, devargs: net_null0, storm: {broadcast: 7}}\n"
    "  - {name: b, devargs: net_null1}\n"
    "jobs:\n"
    "  - {id: 1, workers: 2}\n";

class RunningConfigTest : public testing::Test {
 protected:
  std::string text = kFile;
  config::SwitchConfig in_force = config::parse_switch_config(kFile, "f.yaml");
  bool refuses = false;           // as a switch that lacks memory
  std::vector<std::string> down;  // or ports
  std::vector<std::string> as_before;
  std::string late;  // or the answer of a loop
  std::function<void()> meanwhile;
  RunningConfig running{config::parse_document(kFile, "f.yaml", ""),
                        {[this] { return text; },
                         [this](const config::SwitchConfig& next) {
                           return config::difference(in_force, next, kRoom);
                         },
                         [this](const config::SwitchConfig& next) {
                           if (meanwhile) meanwhile();
                           if (refuses) throw std::runtime_error("no memory");
                           auto change = config::difference(in_force, next, kRoom);
                           in_force = next;
                           change.ports.down = down;
                           change.ports.as_before = as_before;
                           change.late = late;
                           return change;
                         }}};

  using Values = std::vector<std::pair<std::string, std::optional<std::string>>>;
  ordered_json set(Values values, bool dry_run = false) {
    return running.set({std::move(values), dry_run});
  }
  std::string refusal(const Values& values) {
    try {
      set(values);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(RunningConfigTest, KeysChangeTogetherAndTheAnswerShowsWhatWasThere) {
  const auto answer = set({{"ports.a.storm.broadcast", "1000"}, {"forwarding.fdb_ageing", "60s"}});
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 1000u);
  EXPECT_EQ(in_force.forwarding.fdb_ageing, Duration::seconds(60));
  const auto row = [](const char* path, const char* from, const char* to) {
    return ordered_json{{"path", path}, {"from", from}, {"to", to}};
  };
  EXPECT_EQ(answer["keys"],
            ordered_json::array({row("ports.a.storm.broadcast", "7", "1000"),
                                 row("forwarding.fdb_ageing", "300s (default)", "60s")}));
  EXPECT_EQ(answer["change"], "changed: ports[0].storm.broadcast, forwarding.fdb_ageing");
  const auto overrides = running.overrides();
  ASSERT_EQ(overrides.size(), 2u);
  EXPECT_EQ(overrides[0].dump(), R"({"path":"ports.a.storm.broadcast","value":"1000","file":"7"})");
  EXPECT_EQ(overrides[1]["file"], "300s (default)");
}

TEST_F(RunningConfigTest, WhatWasSetBeforeStays) {
  set({{"ports.a.storm.broadcast", "1000"}});
  const auto answer = set({{"ports.a.storm.broadcast", "2000"}, {"jobs.1.deadline", "5s"}});
  EXPECT_EQ(answer["keys"][0]["from"], "1000");
  EXPECT_EQ(answer["change"], "jobs: 1 changed; 0 as before; changed: ports[0].storm.broadcast");
  set({{"switch.idle_sleep_max", "7us"}});
  EXPECT_EQ(in_force.jobs[0].deadline, Duration::seconds(5));
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 2000u);
  EXPECT_EQ(running.overrides().size(), 3u);
}

// What the switch could not open again: told as an error, with what holds in spite of it.
TEST_F(RunningConfigTest, C1_APortThatStaysClosedIsAnErrorAndTheRestHolds) {
  down = {"port b (net_null1): no"};
  EXPECT_EQ(refusal({{"ports.b.queues", "2"}}),
            "changed: ports[1].queues; but not all of it, and a reload tries that again:\n"
            "stays closed: port b (net_null1): no");
  EXPECT_EQ(running.overrides()[0]["value"], "2");
  try {
    running.reload();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), StartsWith("changed: ports[1].queues; dropped what was set: "
                                         "ports.b.queues (2); but not all of it"));
  }
  EXPECT_TRUE(running.overrides().empty());
}

TEST_F(RunningConfigTest, C1_APortThatStaysAsBeforeIsAnErrorAndTheRestHolds) {
  as_before = {"port b (net_null1,x=1): no"};
  EXPECT_EQ(refusal({{"ports.b.queues", "2"}}),
            "changed: ports[1].queues; but not all of it, and a reload tries that again:\n"
            "stays as before: port b (net_null1,x=1): no");
}

// What is told as an error runs: the next change and what was set are seen from there.
TEST_F(RunningConfigTest, WhatALoopComesLateToIsAnErrorAndHolds) {
  late = "no answer; it comes";
  EXPECT_EQ(refusal({{"ports.a.storm.broadcast", "1000"}}),
            "changed: ports[0].storm.broadcast; but no answer; it comes");
  ASSERT_EQ(running.overrides().size(), 1u);
  EXPECT_EQ(running.overrides()[0]["value"], "1000");
  text += "  - {id: 2, workers: 2}\n";
  const auto reload = [&] {
    try {
      return running.reload();
    } catch (const TakenButNotWhole& told) {
      return std::string("error: ") + told.what();
    }
  };
  down = {"port b (net_null1): no answer"};
  EXPECT_EQ(
      reload(),
      "error: jobs: 2 added; 1 as before; changed: ports[0].storm.broadcast; dropped what was "
      "set: ports.a.storm.broadcast (1000); but no answer; it comes; what was to be opened "
      "again stays closed until the next reload:\n"
      "stays closed: port b (net_null1): no answer");
  EXPECT_TRUE(running.overrides().empty());
  late.clear();
  down.clear();
  EXPECT_EQ(reload(), "nothing changed");
  EXPECT_EQ(set({{"jobs.2.deadline", "5s"}})["change"], "jobs: 2 changed; 1 as before")
      << "of the file that was read when the loop was late";
}

// O1: an element of a list of values sets the list, as it is by then.
TEST_F(RunningConfigTest, AnElementOfAListSetsTheList) {
  set({{"ports.a.vlan.mode", "trunk"}, {"ports.a.vlan.allowed", "[10, 20]"}});
  const auto answer = set({{"ports.a.vlan.allowed[1]", "30"}, {"ports.a.vlan.allowed[2]", "40"}});
  EXPECT_EQ(answer["keys"].size(), 1u);
  EXPECT_EQ(answer["keys"][0]["path"], "ports.a.vlan.allowed");
  EXPECT_EQ(answer["keys"][0]["from"], "[10, 20]");
  EXPECT_EQ(answer["keys"][0]["to"], "[10, 30, 40]");
  EXPECT_EQ(in_force.ports[0].vlan.allowed.size(), 3u);
  EXPECT_EQ(running.overrides()[1]["value"], "[10, 30, 40]");
  EXPECT_THAT(refusal({{"ports.a.vlan.allowed[4]", "50"}}), HasSubstr("allowed: 0 to 3"));
  EXPECT_THAT(refusal({{"ports.a.vlan.allowed[0]", std::nullopt}}), HasSubstr("the whole list"));
  EXPECT_THAT(refusal({{"ports.a.vlan.allowed[0]", "1"}, {"ports.a.vlan.allowed[0]", "2"}}),
              HasSubstr("given twice"));
  // Nor a list beside an element of it: what came first would be lost, or not, by their order.
  EXPECT_THAT(refusal({{"ports.a.vlan.allowed[0]", "1"}, {"ports.a.vlan.allowed", "[2, 3]"}}),
              HasSubstr("ports.a.vlan.allowed: is given as a whole and by an element"));
  EXPECT_THAT(refusal({{"ports.a.vlan.allowed", "[2, 3]"}, {"ports.a.vlan.allowed[0]", "1"}}),
              HasSubstr("ports.a.vlan.allowed: is given as a whole and by an element"));
  set({{"ports.a.vlan.allowed", std::nullopt}, {"ports.a.vlan.mode", std::nullopt}});
  EXPECT_TRUE(running.overrides().empty());
}

TEST_F(RunningConfigTest, ADryRunChangesNothing) {
  const auto answer = set({{"ports.a.storm.broadcast", "1000"}}, true);
  EXPECT_EQ(answer["change"], "changed: ports[0].storm.broadcast");
  EXPECT_EQ(answer["dry_run"], true);
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 7u);
  EXPECT_TRUE(running.overrides().empty());
}

TEST_F(RunningConfigTest, ByDefaultTheFileHolds) {
  set({{"ports.a.storm.broadcast", "1000"}, {"forwarding.fdb_ageing", "60s"}});
  const auto answer = set({{"ports[0].storm.broadcast", std::nullopt}});
  EXPECT_EQ(answer["keys"][0]["to"], "7");
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 7u);
  EXPECT_EQ(running.overrides().size(), 1u);
  EXPECT_THAT(refusal({{"ports.a.storm.broadcast", std::nullopt}}), HasSubstr("was not set"));
  set({{"forwarding.fdb_ageing", "61s"}});
  set({{"ports.a.storm.broadcast", "8"}});
  set({{"ports.a.storm.broadcast", "7"}});  // what the file says is no override
  EXPECT_EQ(running.overrides().size(), 1u);
}

TEST_F(RunningConfigTest, ARefusalIsThatOfAFileAndChangesNothing) {
  set({{"forwarding.fdb_ageing", "60s"}});
  const config::SwitchConfig before = in_force;
  EXPECT_THAT(refusal({{"ports.a.storm.broadcast", "1"}, {"switch.slots", "128"}}),
              HasSubstr("\nswitch.slots: only a restart changes it"));
  EXPECT_THAT(refusal({{"ports.a.storm.broadcast", "x"}}),
              StartsWith("f.yaml: ports[0].storm.broadcast: 'x' "));
  EXPECT_THAT(refusal({{"forwarding.fdb_agein", "1s"}}), HasSubstr("did you mean 'fdb_ageing'"));
  EXPECT_THAT(refusal({{"ports.a.vlan.id", "5"}}), StartsWith("f.yaml"));  // makes no sense alone
  EXPECT_THAT(refusal({{"ports.a.mtu", "1400"}, {"ports[0].mtu", "1300"}}),
              HasSubstr("ports.a.mtu: is given twice"));
  refuses = true;
  EXPECT_EQ(refusal({{"ports.a.storm.broadcast", "1"}}), "no memory");
  EXPECT_EQ(config::dump(in_force), config::dump(before));
  EXPECT_EQ(running.overrides().size(), 1u);
}

TEST_F(RunningConfigTest, AReloadDropsWhatWasSetAndSaysSo) {
  set({{"ports.a.storm.broadcast", "1000"}, {"forwarding.fdb_ageing", "60s"}});
  text += "cache: {megabytes: 3}\n";  // cannot be taken
  EXPECT_THROW(running.reload(), std::invalid_argument);
  text = "no: file";
  EXPECT_THROW(running.reload(), config::ConfigErrors);
  EXPECT_EQ(running.overrides().size(), 2u);
  text = std::string(kFile) + "  - {id: 2, workers: 2}\n";
  EXPECT_EQ(running.reload(),
            "jobs: 2 added; 1 as before; changed: ports[0].storm.broadcast, "
            "forwarding.fdb_ageing; dropped what was set: ports.a.storm.broadcast (1000), "
            "forwarding.fdb_ageing (60s)");
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 7u);
  EXPECT_TRUE(running.overrides().empty());
  set({{"jobs.2.lease", "5s"}});  // of the file as it is now
  EXPECT_EQ(running.reload_patiently(),
            "jobs: 2 changed; 1 as before; dropped what was set: jobs.2.lease (5s)");
  EXPECT_EQ(running.reload(), "nothing changed");
}

TEST_F(RunningConfigTest, OneChangeAtATime) {
  const auto busy = [&](auto call) {
    try {
      call();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  std::vector<std::string> answers;
  std::size_t seen = 9;
  meanwhile = [&] {
    // On another thread than the one that changes something, as the signal's.
    std::thread other([&] {
      answers.push_back(busy([&] { running.reload(); }));
      answers.push_back(busy([&] { set({{"ports.a.storm.broadcast", "1"}}); }));
      seen = running.overrides().size();  // who only asks is not turned away
    });
    other.join();
  };
  set({{"ports.a.storm.broadcast", "1000"}});
  EXPECT_THAT(answers, testing::ElementsAre(HasSubstr("busy"), HasSubstr("busy")));
  EXPECT_EQ(seen, 0u) << "as it was before";
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 1000u);
}

TEST_F(RunningConfigTest, OverridesAreBounded) {
  text = kFile;
  text.erase(text.find("  - {id: 1,"));
  for (int id = 1; id <= 200; ++id)
    text += "  - {id: " + std::to_string(id) + ", workers: 2, window: 16}\n";
  running.reload();
  std::string refused;
  for (int id = 1; id <= 200 && refused.empty(); ++id)
    for (const char* key : {".lease", ".deadline"})
      refused += refusal({{"jobs." + std::to_string(id) + key, "5s"}});
  EXPECT_THAT(refused, HasSubstr("256 keys are set already"));
  EXPECT_EQ(running.overrides().size(), RunningConfig::kMostOverrides);
}

}  // namespace
}  // namespace tributary::control
