#include "completion/pieces/limits.h"

#include <gtest/gtest.h>

#include "completion/engine/engine.h"
#include "config/plan/memory_plan.h"

namespace tributary::completion {
namespace {

TEST(Limits, FiguresFollowFromTheJob) {
  JobLimits l;
  l.workers = 3;
  l.window = 4;
  l.piece_bytes = 100;
  EXPECT_EQ(buffer_bytes(l), 128u);
  EXPECT_EQ(least_bytes(l), 3u * 128);
  EXPECT_EQ(most_bytes(l), 4u * 3 * 128);
  l.shards = 2;
  l.root_is_here = false;
  EXPECT_EQ(least_bytes(l), (3u + 2 * 4 * 2) * 128);
  EXPECT_EQ(most_bytes(l), (4u * 2 * 3 + 2 * 4 * 2) * 128);
}

// What the configuration promises is what the engine asks for.
TEST(Limits, AgreeWithTheMemoryPlanOfTheConfiguration) {
  config::SwitchConfig c;
  c.completion.megabytes = 1;
  config::JobConfig job;
  job.id = 9;
  job.workers = 5;
  job.chunk_bytes = 1000;
  job.shards = 3;
  job.deadline = Duration::ms(700);
  c.jobs = {job, job, job};
  c.jobs[0].on_deadline = config::OnDeadline::abort;
  c.jobs[1].id = 10;
  c.jobs[1].parent = config::ParentConfig{};
  c.jobs[2].id = 11;
  c.jobs[2].window = 4096;
  c.jobs[2].order = wire::Order::reproducible;
  c.jobs[2].partials = wire::Partials::narrow;
  c.jobs[2].arithmetic = wire::Arithmetic::modular;
  const auto all = limits_of(c);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, 9u);
  EXPECT_EQ(all[0].deadline, Duration::ms(700));
  EXPECT_EQ(all[1].id, 11u);
  EXPECT_EQ(all[1].deadline, Duration::max());
  EXPECT_EQ(all[1].order, wire::Order::reproducible);
  EXPECT_EQ(all[1].partials, wire::Partials::narrow);
  EXPECT_EQ(all[1].arithmetic, wire::Arithmetic::modular);
  for (std::size_t i = 0; i < 2; ++i) {
    const config::JobConfig& j = c.jobs[2 * i];
    EXPECT_EQ(least_bytes(all[i]), config::least_completion_bytes(j));
    EXPECT_EQ(most_bytes(all[i]), config::most_completion_bytes(j));
    EXPECT_EQ(all[i].bytes, config::completion_share(c, j));
  }
  EXPECT_EQ(Engine(all).job_count(), 2u);
}

// A reload that brings more than the running jobs have left is refused with the figures.
TEST(Limits, JobsThatComeAreRefusedWithWhatIsLeftAndWhatTheyNeed) {
  config::SwitchConfig running;
  running.completion.megabytes = 1;
  config::JobConfig job;
  job.id = 9;
  job.workers = 64;
  job.window = 4;
  job.chunk_bytes = 8192;
  running.jobs = {job};
  const auto before = limits_of(running);
  ASSERT_EQ(before[0].bytes, 1u << 20) << "all there is";
  config::SwitchConfig next = running;
  next.jobs.push_back(job);
  next.jobs[1].id = 10;
  try {
    (void)limits_of(next, before);
    FAIL() << "it was not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "of switch.completion.megabytes 0 of 1048576 bytes are left; the jobs that come "
                 "need 524288");
  }
}

}  // namespace
}  // namespace tributary::completion
