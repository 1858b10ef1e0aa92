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

class RunningConfigTestTimed : public testing::Test {
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

TEST_F(RunningConfigTestTimed, KeysChangeTogetherAndTheAnswerShowsWhatWasThere) {
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
  EXPECT_EQ(overrides[0].dump(),
            R"({"path":"ports.a.storm.broadcast","value":"1000","file":"7","state":"in force"})");
  EXPECT_EQ(overrides[1]["file"], "300s (default)");
}

TEST_F(RunningConfigTestTimed, WhatWasSetBeforeStays) {
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
TEST_F(RunningConfigTestTimed, C1_APortThatStaysClosedIsAnErrorAndTheRestHolds) {
  down = {"port b (net_null1): no"};
  EXPECT_EQ(refusal({{"ports.b.queues", "2"}}),
            "changed: ports[1].queues; but not all of it, and a reload tries that again:\n"
            "stays closed: port b (net_null1): no");
  EXPECT_EQ(running.overrides()[0]["value"], "2");
  try {
    running.reload();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                StartsWith("nothing changed; still set: ports.b.queues (2); but not all of it"));
  }
  EXPECT_EQ(running.overrides().size(), 1u);
}

TEST_F(RunningConfigTestTimed, C1_APortThatStaysAsBeforeIsAnErrorAndTheRestHolds) {
  as_before = {"port b (net_null1,x=1): no"};
  EXPECT_EQ(refusal({{"ports.b.queues", "2"}}),
            "changed: ports[1].queues; but not all of it, and a reload tries that again:\n"
            "stays as before: port b (net_null1,x=1): no");
}

// What is told as an error runs: the next change and what was set are seen from there.
TEST_F(RunningConfigTestTimed, WhatALoopComesLateToIsAnErrorAndHolds) {
  late = "no answer; it comes";
  EXPECT_EQ(refusal({{"ports.a.storm.broadcast", "1000"}}),
            "changed: ports[0].storm.broadcast; but no answer; it comes");
  ASSERT_EQ(running.overrides().size(), 1u);
  EXPECT_EQ(running.overrides()[0]["value"], "1000");
  text += "  - {id: 2, workers: 2}\n";
  const auto reload = [&] {
    try {
      return running.reload().text;
    } catch (const TakenButNotWhole& told) {
      return std::string("error: ") + told.what();
    }
  };
  down = {"port b (net_null1): no answer"};
  EXPECT_EQ(reload(),
            "error: jobs: 2 added; 1 as before; still set: ports.a.storm.broadcast (1000); but no "
            "answer; it comes; what was to be opened again stays closed until the next reload:\n"
            "stays closed: port b (net_null1): no answer");
  EXPECT_EQ(running.overrides().size(), 1u);
  late.clear();
  down.clear();
  EXPECT_EQ(reload(), "nothing changed; still set: ports.a.storm.broadcast (1000)");
  EXPECT_EQ(set({{"jobs.2.deadline", "5s"}})["change"], "jobs: 2 changed; 1 as before")
      << "of the file that was read when the loop was late";
}

// O1: an element of a list of values sets the list, as it is by then.
TEST_F(RunningConfigTestTimed, AnElementOfAListSetsTheList) {
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

TEST_F(RunningConfigTestTimed, ADryRunChangesNothing) {
  const auto answer = set({{"ports.a.storm.broadcast", "1000"}}, true);
  EXPECT_EQ(answer["change"], "changed: ports[0].storm.broadcast");
  EXPECT_EQ(answer["dry_run"], true);
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 7u);
  EXPECT_TRUE(running.overrides().empty());
}

TEST_F(RunningConfigTestTimed, ByDefaultTheFileHolds) {
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

TEST_F(RunningConfigTestTimed, ARefusalIsThatOfAFileAndChangesNothing) {
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

TEST_F(RunningConfigTestTimed, AReloadKeepsWhatWasSetAndSaysSo) {
  set({{"ports.a.storm.broadcast", "1000"}, {"forwarding.fdb_ageing", "60s"}});
  text += "cache: {megabytes: 3}\n";  // cannot be taken
  EXPECT_THROW(running.reload(), std::invalid_argument);
  text = "no: file";
  EXPECT_THROW(running.reload(), config::ConfigErrors);
  text = std::string(kFile) + "  - {id: 2, workers: 2}\n";
  text.replace(text.find("broadcast: 7"), 12, "broadcast: 9");
  const Reloaded reloaded = running.reload();
  EXPECT_EQ(reloaded.text,
            "jobs: 2 added; 1 as before; still set: ports.a.storm.broadcast (1000), "
            "forwarding.fdb_ageing (60s)");
  EXPECT_FALSE(reloaded.set_aside);
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 1000u);
  EXPECT_EQ(running.overrides()[0]["file"], "9");
  set({{"ports.a.storm.broadcast", std::nullopt}});
  EXPECT_EQ(in_force.ports[0].storm.broadcast_pps, 9u) << "of the file as it is now";
}

TEST_F(RunningConfigTestTimed, AnOverrideWithoutAPlaceIsSetAsideUntilItHasOne) {
  set({{"ports.b.storm.broadcast", "1000"}, {"forwarding.fdb_ageing", "60s"}});
  const std::string line = "  - {name: b, devargs: net_null1}\n";
  text.erase(text.find(line), line.size());
  const Reloaded reloaded = running.reload();
  EXPECT_TRUE(reloaded.set_aside);
  EXPECT_THAT(reloaded.text, HasSubstr("; still set: forwarding.fdb_ageing (60s); set aside: "
                                       "ports.b.storm.broadcast (1000): ports: has no 'b"));
  EXPECT_EQ(in_force.forwarding.fdb_ageing, Duration::seconds(60));
  EXPECT_THAT(running.overrides()[0]["state"].get<std::string>(), StartsWith("set aside: ports"));
  set({{"forwarding.fdb_ageing", "61s"}});  // others may be set beside it
  text = kFile;
  EXPECT_FALSE(running.reload().set_aside);
  EXPECT_EQ(in_force.ports[1].storm.broadcast_pps, 1000u);
  text.erase(text.find(line), line.size());
  running.reload();
  set({{"ports.b.storm.broadcast", std::nullopt}});
  EXPECT_EQ(running.overrides().size(), 1u);
}

// The file must make sense by itself; what does not go with it is set aside, the rest holds.
TEST_F(RunningConfigTestTimed, AnOverrideThatANewFileContradictsIsSetAside) {
  set({{"ports.c", "{devargs: net_null7}"}, {"forwarding.fdb_ageing", "60s"}});
  text = "switch: {address: 10.77.0.254}\nports: [{name: a, devargs: net_null7}]\n";
  const Reloaded reloaded = running.reload();
  EXPECT_TRUE(reloaded.set_aside);
  EXPECT_THAT(reloaded.text, HasSubstr("still set: forwarding.fdb_ageing (60s); set aside: "
                                       "ports.c ({name: c, devargs: net_null7}): f.yaml: "));
  EXPECT_EQ(in_force.ports.size(), 1u);
}

TEST_F(RunningConfigTestTimed, ElementsComeChangeAndGo) {
  auto answer = set({{"jobs.7", "{workers: 4}"}, {"ports.c", "{devargs: net_null7}"}});
  ASSERT_EQ(in_force.jobs.size(), 2u);
  EXPECT_EQ(in_force.jobs[1].id, 7u);
  EXPECT_EQ(answer["keys"][0].dump(),
            R"({"path":"jobs.7","from":"none","to":"{id: 7, workers: 4}"})");
  EXPECT_EQ(answer["change"], "jobs: 7 added; 1 as before; changed: port c added");
  set({{"jobs.7.deadline", "5s"}});
  EXPECT_EQ(in_force.jobs[1].deadline, Duration::seconds(5));

  answer = running.set({.remove = {"jobs.1", "ports.b"}});
  EXPECT_EQ(answer["keys"][0].dump(),
            R"({"path":"jobs.1","from":"{id: 1, workers: 2}","to":"none"})");
  EXPECT_EQ(in_force.jobs.size(), 1u);
  EXPECT_EQ(in_force.ports.size(), 2u);
  EXPECT_EQ(running.reload().text,
            "nothing changed; still set: jobs.7 ({id: 7, workers: 4}), ports.c ({name: c, "
            "devargs: net_null7}), jobs.7.deadline (5s), jobs.1 (removed), ports.b (removed)");

  set({{"jobs.1", std::nullopt}});  // comes back
  EXPECT_EQ(in_force.jobs[0].id, 1u);
  set({{"jobs.7", std::nullopt}});  // goes, and what was set in it
  EXPECT_EQ(in_force.jobs.size(), 1u);
  EXPECT_EQ(running.overrides().size(), 2u);
  running.set({.remove = {"ports.c"}});  // of no file: nothing is left to say
  EXPECT_EQ(running.overrides().size(), 1u);
}

TEST_F(RunningConfigTestTimed, ARuleComesAtItsPlace) {
  set({{"acl.rules.last", "{action: deny}"}});
  set({{"acl.rules[0]", "{name: first, action: allow, port: a}"}});
  ASSERT_EQ(in_force.acl.rules.size(), 2u);
  EXPECT_EQ(in_force.acl.rules[0].name, "first");
  running.reload();
  EXPECT_EQ(in_force.acl.rules[0].name, "first");
  set({{"acl.rules.first.action", "deny"}});
  EXPECT_EQ(in_force.acl.rules[0].action, config::AclAction::deny);
  EXPECT_THAT(refusal({{"acl.rules[0]", "{action: deny}"}}), HasSubstr("has no 'name'"));
  EXPECT_THAT(refusal({{"acl.rules[0]", "{name: last, action: deny}"}}),
              HasSubstr("acl.rules.last: is there already; set it by that name"));
  running.set({.remove = {"acl.rules[1]"}});
  ASSERT_EQ(in_force.acl.rules.size(), 1u);
  EXPECT_EQ(in_force.acl.rules[0].name, "first");
}

TEST_F(RunningConfigTestTimed, ARefusedElementChangesNothing) {
  EXPECT_THAT(refusal({{"jobs.7", "{workers: 0}"}}), StartsWith("f.yaml: jobs[1].workers"));
  EXPECT_THAT(refusal({{"jobs.7", "{id: 8, workers: 2}"}}),
              StartsWith("jobs.7: says id: 8; allowed: 7"));
  EXPECT_THAT(refusal({{"jobs.7", "{workers: 2"}}), StartsWith("jobs.7: "));
  EXPECT_THAT(refusal({{"ports.a.storm", "{broadcast: 1}"}}), HasSubstr("is no element of a list"));
  EXPECT_THAT(refusal({{"jobs.7", "{workers: 2}"}, {"jobs[0].id", "3"}}),
              HasSubstr("only the file"));
  EXPECT_THROW(running.set({.remove = {"jobs.9"}}), std::invalid_argument);
  EXPECT_THROW(running.set({.remove = {"jobs.1.lease"}}), std::invalid_argument);
  EXPECT_TRUE(running.overrides().empty());
}

TEST_F(RunningConfigTestTimed, AllIsTakenBackAtOnce) {
  set({{"jobs.7", "{workers: 4}"}, {"forwarding.fdb_ageing", "60s"}});
  set({{"jobs.7.deadline", "5s"}});
  const auto answer = running.set({.unset_all = true});
  EXPECT_EQ(answer["keys"].size(), 3u);
  EXPECT_TRUE(running.overrides().empty());
  EXPECT_EQ(config::dump(in_force), config::dump(config::parse_switch_config(kFile, "f.yaml")));
}

TEST_F(RunningConfigTestTimed, OneChangeAtATime) {
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

TEST_F(RunningConfigTestTimed, OverridesAreBounded) {
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
  EXPECT_EQ(running.overrides().size(), config::kMostOverrides);
}

// What the shell keeps starts another one where this one was.
class KeptOverridesTestTimed : public testing::Test {
 protected:
  std::string kept;
  bool fails = false;
  RunningConfig make(config::Overrides overrides = {}) {
    return {config::parse_document(kFile, "f.yaml", ""),
            {.read = [] { return kFile; },
             .compare = {},
             .apply = [](const config::SwitchConfig&) { return config::Change(); },
             .keep_overrides =
                 [this](const std::string& text) {
                   if (fails) throw std::runtime_error("disk full");
                   kept = text;
                 }},
            {},
            {},
            std::move(overrides)};
  }
};

TEST_F(KeptOverridesTestTimed, WhatIsSetIsKept) {
  auto running = make();
  const auto answer = running.set({.values = {{"jobs.7", "{workers: 4}"},
                                              {"forwarding.fdb_ageing", "60s"},
                                              {"acl.rules[0]", "{name: x, action: deny}"}}});
  EXPECT_EQ(answer["kept"], true);
  running.set({.remove = {"ports.b"}});
  EXPECT_EQ(kept,
            "- {path: jobs.7, element: {id: 7, workers: 4}}\n"
            "- {path: forwarding.fdb_ageing, value: 60s}\n"
            "- {path: acl.rules.x, element: {name: x, action: deny}, at: 0}\n"
            "- {path: ports.b, removed: true}\n");
  auto next = make(config::parse_overrides(kept));
  EXPECT_EQ(next.overrides(), running.overrides());
  next.set({.unset_all = true});
  EXPECT_EQ(kept, "");
}

TEST_F(KeptOverridesTestTimed, AFullDiskIsToldAndTheChangeHolds) {
  auto running = make();
  fails = true;
  try {
    running.set({.values = {{"forwarding.fdb_ageing", "60s"}}});
    FAIL();
  } catch (const TakenButNotWhole& error) {
    EXPECT_THAT(error.what(), HasSubstr("but a restart would not know it: disk full"));
  }
  EXPECT_EQ(running.overrides().size(), 1u);
}

}  // namespace
}  // namespace tributary::control
