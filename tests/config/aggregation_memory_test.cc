// The footprint that the loader refuses by, worked out by hand for small jobs.
#include "config/aggregation_memory.h"

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
  const std::uint64_t history =
      kOpHistory * (kOpRecordBytes + 4 * (2 * kArrivalBytes + kLatenessBytes));
  EXPECT_EQ(m.tables, 2u * (2 * 8 * (64 + 4) + 4 * (64 + 5) + history));
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
  EXPECT_EQ(errors[0],
            "f.yaml:9:51: switch.memory.aggregation_megabytes: 1 MiB cannot hold what the jobs "
            "need: job 1: 1.0 MiB (sums and results 1.0, held data 0.0, cache 0.0, tables 0.0); "
            "aggregation: 1.0 MiB (sums and results 1.0, held data 0.0, cache 0.0, tables 0.0); "
            "allowed: at least 2");
}

}  // namespace
}  // namespace tributary::config
