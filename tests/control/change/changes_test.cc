// What the event log says of changes that clients and signals ask for.
#include "control/change/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary::control {
namespace {

using testing::HasSubstr;

constexpr config::BufferRoom kRoom = {2048, 8192};
constexpr const char* kFile =
    "switch: {address: 10.77.0.254}\n"
    "ports: [{name: a, devargs: net_null0}, {name: b, devargs: net_null1}]\n"
    "jobs: [{id: 1, workers: 2}]\n";

class ChangesTest : public testing::Test {
 protected:
  std::string text = kFile;
  std::string late;  // a loop's answer
  struct Line {
    LogLevel level;
    std::string text;
  };
  std::vector<Line> told;
  config::SwitchConfig in_force =
      config::switch_config(config::parse_document(kFile, "f.yaml", ""));
  EventLog log{[this](LogLevel level, const std::string& line) { told.push_back({level, line}); }};
  RunningConfig running{config::parse_document(kFile, "f.yaml", ""),
                        {[this] { return text; },
                         [this](const config::SwitchConfig& next) {
                           return config::difference(in_force, next, kRoom);
                         },
                         [this](const config::SwitchConfig& next) {
                           auto change = config::difference(in_force, next, kRoom);
                           in_force = next;
                           change.late = late;
                           return change;
                         }}};
  Changes changes{running, Tell(log), "f.yaml", false};

  [[nodiscard]] std::string last() const {
    const auto& event = told.back();
    return std::string(event.level == LogLevel::warning ? "warning: " : "notice: ") + event.text;
  }
};

TEST_F(ChangesTest, EachKeyThatIsSetIsALine) {
  changes.set({.values = {{"forwarding.fdb_ageing", "60s"}, {"jobs.7", "{workers: 2}"}}});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].text, "set forwarding.fdb_ageing: 300s (default) -> 60s");
  EXPECT_EQ(last(), "notice: set jobs.7: none -> {id: 7, workers: 2}");
  changes.set({.values = {{"forwarding.fdb_ageing", "61s"}}, .dry_run = true});
  EXPECT_EQ(told.size(), 2u);
  EXPECT_THROW(changes.set({.values = {{"x", "1"}}}), std::invalid_argument);
  EXPECT_EQ(told.size(), 2u) << "the client is told";
  late = "a loop is late";
  EXPECT_THROW(changes.set({.values = {{"forwarding.fdb_ageing", "9s"}}}), TakenButNotWhole);
  EXPECT_EQ(last(), "warning: set: changed: forwarding.fdb_ageing; but a loop is late");
}

TEST_F(ChangesTest, AReloadIsALineAndAWarningWhereSomethingIsSetAside) {
  EXPECT_EQ(changes.reload(), "nothing changed");
  EXPECT_EQ(last(), "notice: reloaded f.yaml: nothing changed");
  changes.set({.values = {{"ports.b.mtu", "1400"}}});
  text.erase(text.find(", {name: b, devargs: net_null1}"), 31);
  changes.reload();
  EXPECT_THAT(last(), HasSubstr("warning: reloaded f.yaml: "));
  EXPECT_THAT(last(), HasSubstr("set aside: ports.b.mtu (1400): ports: has no"));
  text = "no: file";
  EXPECT_THROW(changes.reload(), std::exception);
  EXPECT_THAT(last(), HasSubstr("warning: not reloaded: f.yaml"));
  changes.reload_on_signal();
  EXPECT_EQ(told.size(), 5u);
  EXPECT_THAT(last(), HasSubstr("warning: not reloaded: f.yaml"));
}

TEST_F(ChangesTest, ARemedyIsSetLikeAKey) {
  changes.remedy({.key = "jobs.1.window", .value = "64"});
  EXPECT_THAT(last(), HasSubstr("notice: set jobs.1.window: "));
  EXPECT_EQ(in_force.jobs[0].window, 64u);
}

TEST_F(ChangesTest, WithoutAManagerNothingIsAssigned) {
  EXPECT_THROW(changes.assign({.file = "/nowhere"}), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::control
