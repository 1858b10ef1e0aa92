#include "sim/run/library_run.h"

#include <gtest/gtest.h>

#include "sim/scenario/library_worlds.h"

namespace tributary::sim {
namespace {

// Rule 23. Each was once a world in which ops failed:
//   2     JOINs after the first epoch had neither UDP checksum nor CRC32C
//   25    a switch below gave its ranks the refusal of ranks that had gone on from a drain
//   295   a JOIN that came late was believed to be of a rank that was started anew
//   2314  a rank that stood still counted as one that had left
//   7441  ranks without a result forgot their past for a JOIN that came late
TEST(LibraryRun, Rule23_NoOpFailsInWorldsThatOnceFailed) {
  for (const std::uint64_t seed : {2u, 25u, 295u, 2314u, 7441u}) {
    const LibraryOutcome outcome = run_library(draw_library_world(seed));
    EXPECT_FALSE(outcome.failure) << "seed " << seed << ": " << *outcome.failure;
    EXPECT_GT(outcome.retries, 0u) << "seed " << seed;
  }
}

// T21: each update once, though its op is sent again, in worlds that once failed or where it
// mattered.
//   4     half a step was done when the epoch ended
//   121   an update whose result was lost with the switch
//   1513  a START of a root that was restarted came late, and the server took it for the next one's
TEST(LibraryRun, T21_AnUpdateIsAppliedOnceWhateverEnds) {
  for (const std::uint64_t seed : {4u, 121u, 1513u}) {
    const LibraryOutcome outcome = run_library(draw_library_world(seed));
    EXPECT_FALSE(outcome.failure) << "seed " << seed << ": " << *outcome.failure;
    EXPECT_GT(outcome.retries, 0u) << "seed " << seed;
    EXPECT_GT(outcome.updates, 0u) << "seed " << seed;
  }
}

// Switches move from one to another, drained or not, while others die.
TEST(LibraryRun, Rule22_Rule23_NoOpFailsWhereTheTreeChanges) {
  std::uint64_t worlds = 0;
  std::uint64_t moves = 0;
  std::uint64_t retries = 0;
  for (std::uint64_t seed = 1; worlds < 15; ++seed) {
    const Scenario scenario = draw_library_world(seed);
    if (scenario.changes.empty()) continue;
    ++worlds;
    const LibraryOutcome outcome = run_library(scenario);
    EXPECT_FALSE(outcome.failure) << "seed " << seed << ": " << *outcome.failure;
    moves += outcome.moves;
    retries += outcome.retries;
  }
  EXPECT_GE(moves, worlds);
  EXPECT_GT(retries, 0u);
}

TEST(LibraryRun, ASeedIsAWorld) {
  const LibraryOutcome once = run_library(draw_library_world(11));
  const LibraryOutcome again = run_library(draw_library_world(11));
  EXPECT_EQ(once.trace_hash, again.trace_hash);
  EXPECT_EQ(once.events, again.events);
  EXPECT_NE(once.trace_hash, run_library(draw_library_world(12)).trace_hash);
}

}  // namespace
}  // namespace tributary::sim
