// C3: what the members of a task derive from each other's records.
#include "worker/task/records.h"

#include <gtest/gtest.h>

#include "worker/task/task_error.h"

namespace tributary::task {
namespace {

std::vector<Hello> hellos_of(const std::vector<std::string>& roles) {
  std::vector<Hello> hellos;
  for (const std::string& role : roles) hellos.emplace_back().role = role;
  return hellos;
}

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const TaskError& error) {
    return error.what();
  }
  return "";
}

// If two ranks say that they are main, both are refused: otherwise members could take different
// ranks' tasks.
TEST(TaskRecords, ThereIsOneMain) {
  EXPECT_EQ(find_main(hellos_of({"worker", "main", "worker"})), 1u);
  EXPECT_EQ(error_of([] {
              find_main(hellos_of({"main", "worker", "main"}));
            }),
            "ranks 0 and 2 of the task job all say that they are main; allowed: one");
  EXPECT_EQ(error_of([] {
              find_main(hellos_of({"worker", "worker"}));
            }),
            "no rank of the task job is main");
}

TEST(TaskRecords, WorkersThatFailAreNamedWithTheirWords) {
  auto hellos = hellos_of({"main", "worker", "worker", "worker"});
  EXPECT_EQ(failure_in(hellos), "");
  hellos[2].failed = "no such sample";
  EXPECT_EQ(failure_in(hellos), "rank 2 ended: no such sample");
  hellos[1].failed = "out of memory";
  hellos[3].failed = "no such sample";
  EXPECT_EQ(
      failure_in(hellos, " of the sum job"),
      "rank 1 of the sum job ended: out of memory; ranks 2 and 3 of the sum job ended: no such "
      "sample");
}

// Names of a run never are those of another one, and a restarted worker goes on with the others'.
TEST(TaskRecords, WorkersAgreeOnTheirRun) {
  auto hellos = hellos_of({"main", "worker", "worker", "worker"});
  for (Hello& one : hellos) one.run = one.role == "main" ? "" : new_run();
  EXPECT_EQ(hellos[1].run.size(), 12u);
  EXPECT_NE(hellos[1].run, hellos[2].run);
  EXPECT_EQ(run_of(hellos), hellos[1].run);
  hellos[2].task = hellos[3].task = "aa";
  EXPECT_EQ(run_of(hellos), hellos[2].run);
  hellos[0].task = "aa";  // main's is none of a run
  EXPECT_EQ(run_of(hellos), hellos[2].run);
  EXPECT_EQ(run_of({}), "");
}

TEST(TaskRecords, WorkersThatDisagreeSendNoResult) {
  auto hellos = hellos_of({"main", "worker", "worker"});
  hellos[1].result = hellos[2].result = "aa";
  EXPECT_EQ(senders_of(hellos, 0), std::vector<std::uint32_t>{1});
  hellos[1].each = hellos[2].each = true;
  EXPECT_EQ(senders_of(hellos, 0), (std::vector<std::uint32_t>{1, 2}));
  hellos[1].each = hellos[2].each = false;
  hellos[2].result = "bb";
  EXPECT_EQ(error_of([&] { senders_of(hellos, 0); }),
            "the workers deliver different results: aa at rank 1 and bb at rank 2");
}

}  // namespace
}  // namespace tributary::task
