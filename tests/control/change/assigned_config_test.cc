// A manager's document among the changes of a running switch: older ones, `set`, and what is kept.
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "control/change/running_config.h"

namespace tributary::control {
namespace {

using testing::HasSubstr;

constexpr const char* kFile =
    "switches:\n"
    "  - name: s\n"
    "    id: 1\n"
    "    address: 10.0.0.1\n"
    "    memory: {reserve_megabytes: 8}\n"
    "    ports: [{name: a, devargs: net_null0}]\n";

std::string document(int term, int revision, int job) {
  return "term: " + std::to_string(term) + "\nrevision: " + std::to_string(revision) +
         "\nnode: s\ntopology:\n"
         "  switches:\n"
         "    - {name: s, id: 1, address: 10.0.0.1, ports: [{name: a, devargs: net_null0}]}\n"
         "  workers: [{name: w, switch: s, port: a}]\n"
         "  jobs: [{id: " +
         std::to_string(job) + ", name: j, workers: 1}]\n";
}

class AssignedConfigTest : public testing::Test {
 protected:
  config::SwitchConfig in_force = config::switch_config(config::parse_document(kFile, "f", "s"));
  std::string kept;
  std::uint64_t kept_term = 0;
  bool disk_is_full = false;
  std::string file = kFile;
  RunningConfig running{
      config::parse_document(kFile, "f", "s"),
      {[this] { return file; },
       [this](const config::SwitchConfig& next) { return config::difference(in_force, next); },
       [this](const config::SwitchConfig& next) {
         auto change = config::difference(in_force, next);
         in_force = next;
         return change;
       },
       [this](const std::string& text) {
         if (disk_is_full) throw std::runtime_error("disk full");
         kept = text;
       },
       [this](std::uint64_t term) {
         if (term > kept_term) {
           EXPECT_FALSE(kept.starts_with("term: " + std::to_string(term) + "\n"));
         }
         kept_term = term;
       }}};

  std::string refusal(const std::string& text) {
    try {
      running.assign({"a.yaml", text, false});
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(AssignedConfigTest, BringsJobsAndIsKept) {
  EXPECT_EQ(running.assign({"a.yaml", document(1, 1, 7), false})["change"],
            "jobs: 7 added; 0 as before");
  EXPECT_EQ(in_force.jobs.at(0).id, 7u);
  EXPECT_EQ(kept, document(1, 1, 7));
  EXPECT_EQ(kept_term, 1u);
  EXPECT_EQ(running.assigned()[0]["jobs"], "j");
}

TEST_F(AssignedConfigTest, OlderOnesAreRefusedAndTheSameOneIsNoChange) {
  running.assign({"a.yaml", document(2, 5, 7), false});
  EXPECT_THAT(refusal(document(1, 9, 8)), HasSubstr("term 2, revision 5 is in force"));
  EXPECT_THAT(refusal(document(2, 4, 8)), HasSubstr("allowed: a later one"));
  EXPECT_THAT(refusal(document(2, 5, 8)), HasSubstr("allowed: a later one"));
  EXPECT_EQ(running.assign({"a.yaml", document(2, 5, 7), false})["change"], "");
  running.assign({"a.yaml", document(3, 1, 8), false});
  EXPECT_EQ(in_force.jobs.at(0).id, 8u);
}

TEST_F(AssignedConfigTest, ADryRunChangesNothing) {
  EXPECT_EQ(running.assign({"a.yaml", document(1, 1, 7), true})["change"],
            "jobs: 7 added; 0 as before");
  EXPECT_TRUE(in_force.jobs.empty());
  EXPECT_EQ(kept, "");
  EXPECT_TRUE(running.assigned().empty());
}

TEST_F(AssignedConfigTest, SetRefusesAssignedKeysAndAReloadKeepsThem) {
  running.assign({"a.yaml", document(1, 1, 7), false});
  EXPECT_THROW(running.set({{{"jobs.7.window", "32"}}, false}), std::invalid_argument);
  running.set({{{"switch.idle_sleep_max", "1ms"}}, false});
  EXPECT_EQ(in_force.jobs.size(), 1u);
  running.reload();
  EXPECT_EQ(in_force.jobs.size(), 1u);
}

TEST_F(AssignedConfigTest, WhatCouldNotBeKeptIsTriedAgain) {
  disk_is_full = true;
  refusal(document(1, 1, 7));
  EXPECT_EQ(running.assigned()[0]["kept"], false);
  EXPECT_THAT(refusal(document(1, 1, 7)), HasSubstr("a restart would not know it: disk full"));
  disk_is_full = false;
  EXPECT_EQ(running.assign({"a.yaml", document(1, 1, 7), false})["change"], "");
  EXPECT_EQ(kept, document(1, 1, 7));
  EXPECT_EQ(running.assigned()[0]["kept"], true);
}

TEST_F(AssignedConfigTest, TheLargestTermBlocksNothingOnceItIsForgotten) {
  constexpr int kMost = std::numeric_limits<int>::max();
  running.assign({"a.yaml", document(kMost, kMost, 7), false});
  EXPECT_THAT(refusal(document(2, 1, 8)), HasSubstr("or `tributary forget-term` before it"));
  running.assign({.forget_term = true});
  EXPECT_EQ(kept_term, 0u);
  EXPECT_EQ(in_force.jobs.at(0).id, 7u) << "what is in force stays";
  running.assign({"a.yaml", document(2, 1, 8), false});
  EXPECT_EQ(in_force.jobs.at(0).id, 8u);
  EXPECT_EQ(kept_term, 2u);
  EXPECT_THAT(refusal(document(1, 9, 7)), HasSubstr("term 2, revision 1 is in force"));
}

// The client need not be allowed to read the file that it names.
TEST_F(AssignedConfigTest, NoErrorQuotesAFileThatIsNoDocument) {
  for (const char* text : {"root:$6$secret:19000:0:::\n", "secret", "- secret\n", "secret: 1\n",
                           "term: secret\nnode: secret\n", "\"secret", "{secret", "&secret a"}) {
    const std::string error = refusal(text);
    EXPECT_THAT(error, HasSubstr("a.yaml: is no assigned document")) << text;
    EXPECT_THAT(error, testing::Not(HasSubstr("secret"))) << text;
  }
  EXPECT_THAT(refusal("term: x\nrevision: 1\nnode: s\ntopology: {}\n"), HasSubstr("'x'"));
}

TEST(AssignedConfig, ATermThatWasSeenCountsWithoutItsDocument) {
  config::SwitchConfig in_force = config::switch_config(config::parse_document(kFile, "f", "s"));
  RunningConfig running(
      config::parse_document(kFile, "f", "s"),
      {[] { return std::string(kFile); },
       [&](const config::SwitchConfig& next) { return config::difference(in_force, next); },
       [&](const config::SwitchConfig& next) {
         auto change = config::difference(in_force, next);
         in_force = next;
         return change;
       }},
      {}, config::Version{3, 0});
  EXPECT_THROW(running.assign({"a.yaml", document(2, 9, 7), false}), std::invalid_argument);
  running.assign({"a.yaml", document(3, 1, 7), false});
  EXPECT_EQ(in_force.jobs.at(0).id, 7u);
}

TEST_F(AssignedConfigTest, AFileThatGetsJobsIsRefused) {
  running.assign({"a.yaml", document(1, 1, 7), false});
  file = std::string(kFile) +
         "workers: [{name: w, switch: s, port: a}]\njobs: [{id: 3, name: own, workers: 1}]\n";
  EXPECT_THROW(running.reload(), std::invalid_argument);
  EXPECT_EQ(in_force.jobs.at(0).id, 7u);
}

TEST_F(AssignedConfigTest, WhatCannotBeKeptIsSaid) {
  disk_is_full = true;
  EXPECT_THAT(refusal(document(1, 1, 7)), HasSubstr("a restart would not know it: disk full"));
  EXPECT_EQ(in_force.jobs.size(), 1u);
}

}  // namespace
}  // namespace tributary::control
