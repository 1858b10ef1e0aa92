#include "sim/scenario/scenario_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/swarm.h"
#include "tests/documented_keys.h"

namespace tributary::sim {
namespace {

using ::testing::HasSubstr;

std::string errors_of(const std::string& text) {
  try {
    parse_scenario(text, "bad.yaml");
  } catch (const config::ConfigErrors& e) {
    return e.what();
  }
  return "accepted";
}

TEST(ScenarioFile, WhatIsWrittenReadsBackTheSame) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string text = to_yaml(draw_scenario(seed));
    EXPECT_EQ(to_yaml(parse_scenario(text, "written")), text) << "seed " << seed;
  }
}

TEST(ScenarioFile, KeysAreThoseOfTheDocumentation) {
  const std::string example =
      tests::expect_documented(describe_scenario_schema(), "configuration/scenarios.md");
  EXPECT_EQ(errors_of(example), "accepted") << example;
}

TEST(ScenarioFile, MistakesAreNamedWithLineAndColumn) {
  EXPECT_THAT(errors_of("jobs:\n  - workers: 2\n    windou: 4\n"),
              AllOf(HasSubstr("bad.yaml:3:5"), HasSubstr("window")));
  EXPECT_THAT(errors_of("jobs:\n  - window: 3\n"),
              AllOf(HasSubstr("bad.yaml:2:13"), HasSubstr("power of two")));
  EXPECT_THAT(errors_of("jobs:\n  - id: 1\nscript:\n  - {action: explode, at: 1ms}\n"),
              AllOf(HasSubstr("bad.yaml:4:"), HasSubstr("crash, pause, partition, link-down")));
  EXPECT_THAT(errors_of("jobs: [\n"), HasSubstr("bad.yaml:"));
  EXPECT_THAT(errors_of("name: empty\n"), HasSubstr("jobs"));
}

TEST(ScenarioFile, ContradictionsAreRefused) {
  EXPECT_THAT(errors_of("jobs:\n  - id: 1\n  - id: 1\n"), HasSubstr("bad.yaml:3:"));
  EXPECT_THAT(errors_of("jobs:\n  - id: 1\nlinks: {delay_min: 2ms, delay_max: 1ms}\n"),
              HasSubstr("delay_max"));
  EXPECT_THAT(
      errors_of("jobs:\n  - id: 1\nscript:\n  - {action: pause, target: access, at: 1ms}\n"),
      HasSubstr("no access switches"));
  EXPECT_THAT(errors_of("jobs:\n  - {id: 1, shards: 6, plane: 2}\n"),
              HasSubstr("(plane + 1) x shards <= 16"));
}

TEST(ScenarioFile, OpSizesFitWhatModelsThem) {
  EXPECT_THAT(errors_of("jobs:\n  - {id: 1, op_bytes: 10}\n"),
              AllOf(HasSubstr("bad.yaml:2:"), HasSubstr("not a multiple of 4")));
  EXPECT_THAT(
      errors_of("jobs:\n  - {id: 1, chunk_bytes: 1024, op_bytes: 1000, payload: modelled}\n"),
      HasSubstr("whole chunks"));
  EXPECT_THAT(errors_of("jobs:\n  - {id: 1, op_bytes: 17179869184}\n"), HasSubstr("at most 1 GiB"));
  EXPECT_EQ(errors_of("jobs:\n  - {id: 1, chunk_bytes: 8192, op_bytes: 68719476736, payload: "
                      "modelled}\n"),
            "accepted");
}

TEST(ScenarioFile, TreesAreChecked) {
  const std::string jobs = "jobs:\n  - {id: 1, workers: 5}\n";
  EXPECT_THAT(
      errors_of(jobs + "switches:\n  - {name: root}\n  - {name: A, parent: root, workers: 3}"
                       "\n  - {name: B, parent: rot, workers: 2}\n"),
      AllOf(HasSubstr("bad.yaml:6:23"), HasSubstr("called 'rot'")));
  EXPECT_EQ(errors_of(jobs + "switches:\n  - {name: root}\n  - {name: A, parent: root, workers: 5}"
                             "\n"),
            "accepted");
  EXPECT_THAT(errors_of(jobs + "fat_tree: {levels: 3, radix: 1}\n"), HasSubstr("no room"));
  EXPECT_EQ(errors_of(jobs + "fat_tree: {levels: 3, radix: 4}\n"), "accepted");
  EXPECT_EQ(errors_of(jobs + "fat_tree: {levels: 1, radix: 8}\n"), "accepted");
  const std::string served = "jobs:\n  - {id: 1, workers: 5, servers: 1}\nservers: {count: 1}\n";
  EXPECT_EQ(
      errors_of(served + "switches:\n  - {name: root}\n  - {name: A, parent: root, workers: 5}"
                         "\n"),
      "accepted");
  EXPECT_THAT(errors_of(served + "fat_tree: {levels: 3, radix: 4}\n"),
              HasSubstr("not possible in a generated tree"));
}

TEST(ScenarioFile, WhatMovesMustExistAndLeaveATree) {
  const std::string tree =
      "jobs:\n  - {id: 1, workers: 5}\nswitches:\n  - {name: root}\n"
      "  - {name: A, parent: root, workers: 3}\n  - {name: B, parent: A, workers: 2}\nchanges:\n";
  EXPECT_EQ(errors_of(tree + "  - {at: 1ms, switch: 2, to: 0}\n"), "accepted");
  EXPECT_EQ(errors_of(tree + "  - {at: 1ms, worker: 4, to: 0}\n"), "accepted");
  for (const char* change : {"switch: 3, to: 0", "switch: 2, to: 3", "worker: 5, to: 0"}) {
    std::string text = tree;
    text.append("  - {at: 1ms, ").append(change).append("}\n");
    EXPECT_THAT(errors_of(text), AllOf(HasSubstr("bad.yaml:8:"), HasSubstr("does not exist")));
  }
  EXPECT_THAT(errors_of(tree + "  - {at: 1ms, switch: 1, to: 2}\n"),
              AllOf(HasSubstr("bad.yaml:8:"), HasSubstr("2 may be attached to switch 1")));
  EXPECT_THAT(errors_of(tree + "  - {at: 1ms, switch: 0, to: 1}\n"), HasSubstr("allowed: 1 to"));
}

TEST(ScenarioFile, HowAJobSumsMustBePossible) {
  const auto with = [](const std::string& sums, const std::string& more = "") {
    return errors_of("jobs:\n  - {id: 1, workers: 5, window: 4, sums: {" + sums + "}}\n" + more);
  };
  const std::string tree =
      "switches:\n  - {name: root, workers: 2}\n  - {name: A, parent: root, workers: 3}\n";
  EXPECT_EQ(with("slots: dynamic, quota: 2", "pool_slots: 4\n"), "accepted");
  EXPECT_THAT(with("slots: dynamic", "pool_slots: 3\n"), HasSubstr("pool_slots, 3"));
  EXPECT_THAT(with("quota: 2"), HasSubstr("slots: dynamic"));
  EXPECT_THAT(with("release: returned"), HasSubstr("verify: true"));
  EXPECT_THAT(with("bracketing: [0, 1, 2, 3, 4]"), HasSubstr("order: reproducible"));
  EXPECT_THAT(with("order: reproducible, bracketing: [0, 1]"), HasSubstr("bracketing"));
  for (const std::string knob :
       {"slots: dynamic", "verify: true", "on_deadline: abort", "release: returned",
        "partials: narrow", "order: reproducible, bracketing: [[4, 2, 3], [1, 0]]"})
    EXPECT_EQ(with(knob, "pool_slots: 4\n" + tree), "accepted") << knob;
  EXPECT_THAT(with("order: reproducible, partials: narrow", tree),
              AllOf(HasSubstr("bad.yaml:2:"), HasSubstr("rounded at each switch of a tree")));
  EXPECT_THAT(with("order: reproducible, bracketing: [[0, 1, 2], [3, 4]]", tree),
              AllOf(HasSubstr("bad.yaml:2:"), HasSubstr("ranks of A, 2-4, are no bracket")));
}

TEST(ScenarioFile, NamedDataNeedsWholePayloads) {
  EXPECT_EQ(errors_of("jobs:\n  - {id: 1, chunk_bytes: 256, named_bytes: 9}\n"), "accepted");
  for (const char* const bad :
       {"jobs:\n  - {id: 1, chunk_bytes: 248, named_bytes: 9}\n",
        "jobs:\n  - {id: 1, chunk_bytes: 256, named_bytes: 9, payload: modelled}\n",
        "jobs:\n  - {id: 1, chunk_bytes: 256, named_bytes: 9, resizes: [{op: 0, workers: 1}]}\n",
        "jobs:\n  - {id: 1, chunk_bytes: 256, named_bytes: 9}\nlinks: {stray: 1}\n"})
    EXPECT_THAT(errors_of(bad), HasSubstr("jobs[0].named_bytes: needs real payloads"));
}

TEST(ScenarioFile, AFileThatIsNotThereIsSaidSo) {
  EXPECT_THROW(load_scenario("/nonexistent/scenario.yaml"), config::ConfigErrors);
}

}  // namespace
}  // namespace tributary::sim
