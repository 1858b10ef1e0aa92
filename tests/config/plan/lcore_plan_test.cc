#include "config/plan/lcore_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/plan/aggregation_memory.h"
#include "config/plan/memory_plan.h"

namespace tributary::config {
namespace {

SwitchConfig with(std::size_t lcores, const std::vector<std::uint32_t>& job_ids) {
  SwitchConfig config;
  config.lcores.assign(lcores, -1);
  config.ports.resize(3);
  for (const std::uint32_t id : job_ids) {
    JobConfig& job = config.jobs.emplace_back();
    job.id = id;
    job.workers = 2;
    job.window = 16;
  }
  return config;
}

std::vector<std::uint32_t> ids(const SwitchConfig& part) {
  std::vector<std::uint32_t> out;
  for (const JobConfig& job : part.jobs) out.push_back(job.id);
  return out;
}

SwitchConfig part_of(const SwitchConfig& config, std::size_t lcore) {
  return lcore_part(config, lcore, lcore_share(config, lcore));
}

TEST(LcorePlan, QueuesGoRoundUnlessTheyAreGiven) {
  auto config = with(2, {});
  config.ports[0].queues = 2;
  config.ports[1].queues = 2;
  config.ports[1].lcores = {1, 1};
  std::vector<std::uint16_t> lcores;
  for (const QueuePlace& place : queue_places(config)) lcores.push_back(place.lcore);
  EXPECT_THAT(lcores, testing::ElementsAre(0, 1, 1, 1, 0));
  EXPECT_EQ(queue_count(config), 5u);
}

TEST(LcorePlan, AJobStaysWhereItIsWhateverComesBesideIt) {
  const auto before = with(3, {4, 5, 9});
  const auto after = with(3, {1, 2, 3, 9, 5});
  for (const std::uint32_t id : {5u, 9u})
    for (const JobConfig& old : before.jobs)
      for (const JobConfig& job : after.jobs)
        if (old.id == id && job.id == id) {
          EXPECT_EQ(job_lcore(before, old), job_lcore(after, job));
          EXPECT_EQ(job_lcore(after, job), id % 3);
        }
}

TEST(LcorePlan, PartsHaveAllJobsOnceAndNoMoreSlotsThanThereAre) {
  auto config = with(2, {1, 2, 3, 4});
  config.slots = 100;
  config.jobs[2].slots = SlotMode::dynamic;
  config.jobs[1].lcore = 1;
  const SwitchConfig first = part_of(config, 0);
  const SwitchConfig second = part_of(config, 1);
  EXPECT_THAT(ids(first), testing::ElementsAre(3, 4));
  EXPECT_THAT(ids(second), testing::ElementsAre(1, 2));
  EXPECT_EQ(second.slots, 32u) << "what its jobs need";
  EXPECT_EQ(first.slots, 68u) << "the rest, with the pool";
  EXPECT_EQ(pool_slots(first), 52u);
  EXPECT_EQ(pool_slots(second), 0u);
  EXPECT_EQ(pool_slots(config), 52u) << "as with one lcore";
}

std::vector<std::uint16_t> lcores_of(const SwitchConfig& config, const JobConfig& job) {
  std::vector<std::uint16_t> out;
  for (std::uint8_t plane = 0; plane < job.planes; ++plane)
    out.push_back(job_lcore(config, job, plane));
  return out;
}

TEST(LcorePlan, PlanesAreOnDifferentLcores) {
  auto config = with(4, {6});
  JobConfig& job = config.jobs[0];
  job.planes = 3;
  EXPECT_THAT(lcores_of(config, job), testing::ElementsAre(2, 3, 0)) << "from the job's own on";
  job.lcore = 1;
  EXPECT_THAT(lcores_of(config, job), testing::ElementsAre(1, 2, 3));
  job.lcore.reset();
  job.lcores = {3, 0, 1};
  EXPECT_THAT(lcores_of(config, job), testing::ElementsAre(3, 0, 1));
  EXPECT_EQ(plane_on(config, job, 0), 1);
  EXPECT_EQ(plane_on(config, job, 2), std::nullopt);
}

// To each loop a plane is what a job is: with its number, and with memory of its own.
TEST(LcorePlan, PartsHaveEachPlaneOnce) {
  auto config = with(3, {1, 2});
  config.slots = 100;
  config.jobs[0].planes = 2;
  config.jobs[1].slots = SlotMode::dynamic;
  std::vector<std::pair<std::size_t, int>> found;
  std::uint64_t completion = 0;
  AggregationMemory sum;
  for (std::size_t lcore = 0; lcore < 3; ++lcore) {
    const SwitchConfig part = part_of(config, lcore);
    for (const JobConfig& job : part.jobs) {
      if (job.id == 1) found.emplace_back(lcore, job.plane);
      completion += completion_share(part, job);
    }
    sum += aggregation_memory(part);
  }
  EXPECT_THAT(found, testing::ElementsAre(std::pair(1, 0), std::pair(2, 1)));
  EXPECT_EQ(part_of(config, 0).slots, 68u) << "the pool has what both windows leave";
  EXPECT_EQ(part_of(config, 2).slots, 16u);
  EXPECT_EQ(completion, 2 * completion_share(config, config.jobs[0]) +
                            completion_share(config, config.jobs[1]));
  EXPECT_EQ(aggregation_memory(config).total(), sum.total());
  auto one = config;
  one.jobs[0].planes = 1;
  EXPECT_EQ(aggregation_memory(config).sums,
            aggregation_memory(one).sums + job_memory(config.jobs[0]).sums);
}

TEST(LcorePlan, ScarceCompletionMemoryIsSharedByPlanesAsByJobs) {
  auto config = with(2, {1, 2});
  config.completion.megabytes = 1;
  for (JobConfig& job : config.jobs) job.window = 4096;
  config.jobs[1].planes = 2;
  std::uint64_t all = 0;
  for (std::size_t lcore = 0; lcore < 2; ++lcore) {
    const LcoreShare share = lcore_share(config, lcore);
    EXPECT_GE(share.completion_bytes, std::uint64_t{1} << 18) << lcore;
    all += share.completion_bytes;
  }
  EXPECT_LE(all, std::uint64_t{1} << 20);
}

TEST(LcorePlan, MemoryIsDividedNotMultiplied) {
  auto config = with(2, {1, 2, 3});
  config.cache.megabytes = 5;
  config.memory.reserve_megabytes = 3;
  std::uint64_t cache = 0;
  std::uint64_t reserve = 0;
  std::uint64_t completion = 0;
  AggregationMemory sum;
  for (std::size_t lcore = 0; lcore < 2; ++lcore) {
    const LcoreShare share = lcore_share(config, lcore);
    cache += share.cache_bytes;
    reserve += share.reserve_bytes;
    completion += share.completion_bytes;
    sum += aggregation_memory(part_of(config, lcore));
  }
  EXPECT_EQ(cache, 5u << 20);
  EXPECT_EQ(reserve, 3u << 20);
  EXPECT_LE(completion, 64u << 20);
  EXPECT_GE(completion, (64u << 20) - 2);
  EXPECT_EQ(aggregation_memory(config).total(), sum.total());
  auto one = config;
  one.lcores.clear();
  EXPECT_EQ(aggregation_memory(config).sums, aggregation_memory(one).sums);
}

// What a job may hold at its completion engine does not depend on who else is on its lcore.
TEST(LcorePlan, CompletionSharesAreThoseOfTheWholeSwitch) {
  auto config = with(2, {1, 2, 3});
  config.completion.megabytes = 1;
  for (JobConfig& job : config.jobs) {
    job.window = 1024;
    job.chunk_bytes = 8192;
  }
  config.jobs[2].workers = 8;
  for (std::size_t lcore = 0; lcore < 2; ++lcore) {
    const SwitchConfig part = part_of(config, lcore);
    for (const JobConfig& job : part.jobs)
      EXPECT_NEAR(static_cast<double>(completion_share(part, job)),
                  static_cast<double>(completion_share(config, job)), 2);
  }
}

TEST(LcorePlan, OneLcoreHasAll) {
  const auto config = with(0, {1, 2});
  EXPECT_EQ(lcore_count(config), 1u);
  const SwitchConfig part = part_of(config, 0);
  EXPECT_FALSE(part.share.has_value());
  EXPECT_EQ(part.jobs, config.jobs);
  EXPECT_EQ(part.slots, config.slots);
}

TEST(LcorePlan, PacketBuffersGrowWithLcoresAndQueues) {
  auto config = with(0, {});
  const std::size_t one = least_buffers(config);
  EXPECT_EQ(one, 3 * kLeastBuffersPerQueue + kSharedBuffers);
  config.lcores = {-1, -1, -1};
  config.ports[0].queues = 3;
  EXPECT_EQ(least_buffers(config),
            one + 2 * kLeastBuffersPerQueue + 2 * kSharedBuffers + 6 * 2 * kHandoverFrames)
      << "jobs' and others'";
  const std::size_t three = least_buffers(config);
  config.forwarding.snooping.enabled = true;
  EXPECT_EQ(least_buffers(config), three + 2 * kGroupMessages) << "to the first";
  config.lcores = {};
  config.ports[0].queues = 1;
  EXPECT_EQ(least_buffers(config), one);
}

TEST(LcorePlan, AFrameLeavesThroughTheLoopsOwnQueueOrAnothers) {
  SwitchConfig config;
  config.lcores = {-1, -1, -1};
  config.ports = {{"a", "net_null0"}, {"b", "net_null1"}};
  config.ports[0].queues = 2;
  config.ports[0].lcores = {2, 0};
  EXPECT_EQ(ways_out(config, 0), (std::vector<WayOut>{{1, 0}, {0, 0}}));
  EXPECT_EQ(ways_out(config, 1), (std::vector<WayOut>{{1, 0}, {0, 0}}));
  EXPECT_EQ(ways_out(config, 2), (std::vector<WayOut>{{0, 2}, {0, 0}}));
  config.ports[1].queues = 0;  // a vacant place
  EXPECT_EQ(ways_out(config, 2)[1].lcore, WayOut::kNobody);
  config.ports[0].lcores = {0, 0};
  EXPECT_EQ(ways_out(config, 0)[0], (WayOut{0, 0})) << "the first of several";
}

}  // namespace
}  // namespace tributary::config
