// The footprint that the loader refuses by, worked out by hand for small jobs.
#include "config/plan/aggregation_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/sample.h"

namespace tributary::config {
namespace {

JobConfig job_of(std::uint32_t workers, std::uint32_t window, std::uint32_t chunk_bytes) {
  JobConfig job;
  job.id = 1;
  job.workers = workers;
  job.window = window;
  job.chunk_bytes = chunk_bytes;
  return job;
}

TEST(AggregationMemory, SumsAndResultsOfTwoWindows) {
  JobConfig job = job_of(4, 8, 100);
  job.shards = 2;
  const AggregationMemory m = job_memory(job);
  EXPECT_EQ(m.sums, 2u * 2 * 8 * 128);  // rounded up to cache lines
  EXPECT_EQ(m.holds, 0u);
}

// For each shard: the job, its ranks, the order in which they are combined, its chunks, its ranks,
// ops, and the children that a parent waits for. Once: the job, its ranks, and where they are.
TEST(AggregationMemory, TablesOfEachShardAndOfTheMembership) {
  JobConfig job = job_of(4, 8, 100);
  job.shards = 2;
  const std::uint64_t map = 4 * kPlaceBytes + 4 * 4 + 4 * 2;
  const std::uint64_t order = 4 * (2 + 2) + 8 + 2 * kOrderBytes;
  const std::uint64_t history =
      kOpHistory * (kOpRecordBytes + 4 * (2 * kArrivalBytes + kLatenessBytes));
  const std::uint64_t shard = kShardJobBytes + map + order + 2 * 8 * (64 + kBufferBytes) +
                              4 * (kChildBytes + 5) + history + 248 * 4;
  const std::uint64_t members = 4 * (kMemberBytes + 2);
  EXPECT_EQ(job_memory(job).tables, 2 * shard + kJobBytes + map + members + 2 * 8 + 248 * 4);
}

// They are in each of its copies: one for each shard, and one.
TEST(AggregationMemory, TablesHoldWhatAJobsConfigurationSays) {
  JobConfig job = job_of(4, 8, 100);
  const std::uint64_t before = job_memory(job).tables;
  job.name = std::string(100, 'n');
  EXPECT_EQ(job_memory(job).tables, before + 2 * 101);
  job.members = {{0, std::string(30, 'p')}};
  EXPECT_EQ(job_memory(job).tables, before + 2 * (101 + sizeof(MemberConfig) + 31));
}

// In KiB, as docs/configuration/constraints.md has it.
TEST(AggregationMemory, TablesAreAsLargeAsTheHandbookSays) {
  const auto tables = [](const JobConfig& job) {
    return static_cast<double>(job_memory(job).tables) / 1024;
  };
  const double one = tables(job_of(4, 8, 64));
  EXPECT_NEAR(tables(job_of(5, 8, 64)) - one, 1.2, 0.05) << "a worker";
  EXPECT_NEAR((tables(job_of(4, 16, 64)) - one) * 1024, 16 * 70, 50) << "16 chunks";
  EXPECT_NEAR(one, 15.5 + 7 + 4 * 1.2 + 16 * 70.0 / 1024, 0.5) << "a job";
  SwitchConfig c;
  c.jobs = {job_of(1, 8, 64)};
  const double lone = static_cast<double>(aggregation_memory(c).tables) / 1024;
  c.jobs[0].shards = 2;
  const double two = static_cast<double>(aggregation_memory(c).tables) / 1024;
  EXPECT_NEAR(two - lone, 14 + 15.5 + 1.1 + 16 * 70.0 / 1024, 0.5) << "a shard, and the job in it";
}

// Jobs or not, an engine has its shards; with a reserve, all that there can be.
TEST(AggregationMemory, TablesOfTheEngineAreThereWithoutJobs) {
  SwitchConfig c;
  const std::uint64_t one = aggregation_memory(c).tables;
  EXPECT_GE(one, kEngineBytes + kShardBytes);
  c.memory.reserve_megabytes = 1;
  EXPECT_GE(aggregation_memory(c).tables, kEngineBytes + kMaxShards * kShardBytes);
  EXPECT_EQ(aggregation_memory(c).reserve, std::uint64_t{1} << 20);
}

TEST(AggregationMemory, DeclaredOrderHoldsAWindowOfAllRanksButOne) {
  JobConfig job = job_of(4, 8, 64);
  job.order = wire::Order::reproducible;
  EXPECT_EQ(job_memory(job).holds, 8u * 3 * 64);
  job.order = wire::Order::fast;
  job.trigger = Trigger::collect;
  EXPECT_EQ(job_memory(job).holds, 8u * 3 * 64);
}

TEST(AggregationMemory, NarrowPartialsNeedWideSlots) {
  JobConfig job = job_of(2, 8, 64);
  job.partials = wire::Partials::narrow;
  EXPECT_EQ(slot_buffer_bytes(job), 256u);  // int8 sums
  job.reductions = {{wire::DType::float16, wire::ReduceOp::sum}};
  EXPECT_EQ(slot_buffer_bytes(job), 128u);
  job.reductions = {{wire::DType::float32, wire::ReduceOp::sum},
                    {wire::DType::float16, wire::ReduceOp::max}};
  EXPECT_EQ(slot_buffer_bytes(job), 64u);
}

TEST(AggregationMemory, CacheIsSharedOutToShardsAndSizes) {
  SwitchConfig c;
  c.cache.megabytes = 1;
  c.jobs = {job_of(2, 8, 1024), job_of(2, 8, 512)};
  const auto classes = buffer_classes(c, 0);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].bytes, 1024u);
  EXPECT_EQ(classes[0].reserved, 16u);
  EXPECT_EQ(classes[0].cached, 512u);
  EXPECT_EQ(classes[1].cached, 1024u);
  EXPECT_EQ(aggregation_memory(c).cache, std::uint64_t{1} << 20);
}

// Held contributions are no results: buffers of their size alone can't serve the cache.
TEST(AggregationMemory, CacheIsOnlyForSizesOfResults) {
  SwitchConfig c;
  c.cache.megabytes = 1;
  c.jobs = {job_of(3, 8, 64)};
  c.jobs[0].order = wire::Order::reproducible;
  c.jobs[0].partials = wire::Partials::narrow;
  const auto classes = buffer_classes(c, 0);
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].bytes, 256u);
  EXPECT_EQ(classes[0].cached, (1u << 20) / 256);
  EXPECT_EQ(classes[1].cached, 0u);
}

// What the memory check compares is what would be taken, however much is asked for.
TEST(AggregationMemory, LargestCacheIsNotMistakenForASmallOne) {
  SwitchConfig c;
  c.cache.megabytes = 1u << 20;
  c.jobs = {job_of(2, 8, 64)};
  EXPECT_EQ(buffer_classes(c, 0)[0].cached, 1u << 30);
  EXPECT_EQ(aggregation_memory(c).cache, std::uint64_t{64} << 30);
  c.jobs[0].chunk_bytes = 8192;
  EXPECT_EQ(aggregation_memory(c).cache, std::uint64_t{1} << 40);
}

// A job that does not fit is refused with the figures.
TEST(AggregationMemory, TooLargeIsRefusedWithTheFigures) {
  const auto errors =
      errors_of(sample_with(9, "  memory: {megabytes: 256, aggregation_megabytes: 1}"));
  ASSERT_EQ(errors.size(), 1u);
  const std::string before =
      "f.yaml:9:51: switch.memory.aggregation_megabytes: 1 MiB, 1048576 bytes, cannot hold the ";
  ASSERT_THAT(errors[0], testing::StartsWith(before));
  const std::uint64_t needed = std::stoull(errors[0].substr(before.size()));
  EXPECT_GT(needed, 1u << 20);
  EXPECT_LE(needed, 2u << 20);
  EXPECT_EQ(errors[0].substr(before.size() + std::to_string(needed).size()),
            " that the jobs need: job 1: 1.0 MiB (sums and results 1.0, held data 0.0, cache 0.0, "
            "tables 0.0); aggregation: 1.0 MiB (sums and results 1.0, held data 0.0, cache 0.0, "
            "tables 0.0); allowed: at least 2");
}

}  // namespace
}  // namespace tributary::config
