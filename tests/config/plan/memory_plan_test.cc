#include "config/plan/memory_plan.h"

#include <gtest/gtest.h>

namespace tributary::config {
namespace {

JobConfig job(std::uint32_t workers, std::uint32_t window, std::uint32_t chunk_bytes) {
  JobConfig j;
  j.workers = workers;
  j.window = window;
  j.chunk_bytes = chunk_bytes;
  return j;
}

TEST(MemoryPlan, CompletionNeedsAPieceOfEachRankAndAtMostThatForEachChunkInFlight) {
  JobConfig j = job(3, 8, 1000);
  j.shards = 2;
  EXPECT_EQ(piece_buffer_bytes(j), 1024u);
  EXPECT_EQ(least_completion_bytes(j), 3u * 1024);
  EXPECT_EQ(most_completion_bytes(j), 3u * 1024 * 8 * 2);
}

TEST(MemoryPlan, JobsThatFitGetAllTheyCanUse) {
  SwitchConfig c;
  c.completion.megabytes = 1;
  c.jobs = {job(4, 64, 1024), job(2, 64, 1024)};
  EXPECT_EQ(completion_share(c, c.jobs[0]), most_completion_bytes(c.jobs[0]));
  EXPECT_EQ(completion_share(c, c.jobs[1]), most_completion_bytes(c.jobs[1]));
}

TEST(MemoryPlan, JobsThatDoNotFitShareTheRestByWhatTheyCouldUse) {
  SwitchConfig c;
  c.completion.megabytes = 1;
  c.jobs = {job(16, 4096, 8192), job(8, 4096, 8192), job(8, 4096, 8192)};
  c.jobs[2].parent = ParentConfig{};
  const std::uint64_t a = completion_share(c, c.jobs[0]);
  const std::uint64_t b = completion_share(c, c.jobs[1]);
  EXPECT_EQ(completion_share(c, c.jobs[2]), 0u);  // its root is elsewhere
  EXPECT_GE(a, least_completion_bytes(c.jobs[0]));
  EXPECT_GE(b, least_completion_bytes(c.jobs[1]));
  EXPECT_LE(a + b, 1u << 20);
  EXPECT_GT(a + b, (1u << 20) - 4);
  const std::uint64_t extra_a = a - least_completion_bytes(c.jobs[0]);
  const std::uint64_t extra_b = b - least_completion_bytes(c.jobs[1]);
  EXPECT_NEAR(static_cast<double>(extra_a), 2.0 * static_cast<double>(extra_b), 4.0);
}

TEST(MemoryPlan, TheLeastIsNotTakenFromTheOthers) {
  SwitchConfig c;
  c.completion.megabytes = 1;
  c.jobs = {job(127, 4096, 8192), job(1, 1, 8192)};
  EXPECT_EQ(least_completion_bytes(c), 1u << 20);
  EXPECT_EQ(completion_share(c, c.jobs[0]), least_completion_bytes(c.jobs[0]));
  EXPECT_EQ(completion_share(c, c.jobs[1]), 8192u);
}

}  // namespace
}  // namespace tributary::config
