#include "tools/loadgen/job.h"

#include <gtest/gtest.h>

#include "tests/loadgen/played_job.h"

namespace tributary::loadgen {
namespace {

TEST(Job, IssuesTheSameOpsToAllRanksAndEnds) {
  PlayedJob played(job_of(3));
  Job job({.ops = 25}, played.raw());
  EXPECT_FALSE(job.joined());
  ASSERT_TRUE(played.join());
  EXPECT_TRUE(job.joined());
  ASSERT_TRUE(played.run_until([&] {
    job.run(played.now);
    return job.done();
  }));
  EXPECT_EQ(job.issued(), 25u);
  for (const Player* player : job.players()) EXPECT_EQ(player->finished(), 25u);
}

TEST(Job, KeepsTheRateAndSaysHowFarItIsBehind) {
  PlayedJob played(job_of(2));
  Job job({.op_interval = Duration::ms(10)}, played.raw());
  ASSERT_TRUE(played.join());
  const Instant begin = played.now;
  played.run_until([&] {
    job.run(played.now);
    return played.now >= begin + Duration::ms(99);
  });
  EXPECT_EQ(job.issued(), 10u) << "at 0, 10, ... 90 ms";
  EXPECT_LT(job.lag(), Duration::ms(1));
  job.run(played.now + Duration::ms(51));
  EXPECT_GT(job.lag(), Duration::ms(39)) << "the op of 110 ms came at 150 ms";
}

TEST(Job, WhatWasSlowBeforeItWasWarmDoesNotCount) {
  PlayedJob played(job_of(2));
  Job job({.op_interval = Duration::ms(10)}, played.raw());
  ASSERT_TRUE(played.join());
  const Instant begin = played.now;
  played.run_until([&] {
    if (played.now < begin + Duration::ms(1) || played.now > begin + Duration::ms(50))
      job.run(played.now);
    return played.now >= begin + Duration::ms(95);
  });
  EXPECT_GT(job.lag(), Duration::ms(30));
  EXPECT_GT(played.players[0]->latencies().count(), 0u);
  job.warmed_up();
  EXPECT_EQ(job.lag(), Duration());
  EXPECT_EQ(played.players[0]->latencies().count(), 0u);
  EXPECT_GT(played.players[0]->finished(), 0u) << "counted as before";
  const PlayerCounts& counts = played.players[0]->counts();
  EXPECT_GT(counts.warm_up_verified, 0u);
  EXPECT_EQ(counts.warm_up_verified, counts.verified);
  EXPECT_EQ(counts.warm_up_bytes, counts.verified_bytes);
}

TEST(Job, LateRanksIssueEachOpLater) {
  PlayedJob played(job_of(2));
  Job job({.ops = 3, .late = {{1, Duration::ms(20)}}}, played.raw());
  ASSERT_TRUE(played.join());
  const Instant begin = played.now;
  played.run_until([&] {
    job.run(played.now);
    return played.now >= begin + Duration::ms(19);
  });
  EXPECT_EQ(job.players()[0]->issued(), 3u);
  EXPECT_EQ(job.players()[1]->issued(), 0u);
  ASSERT_TRUE(played.run_until([&] {
    job.run(played.now);
    return job.done();
  }));
  EXPECT_GE(played.players[0]->latencies().max(), Duration::ms(19));
}

TEST(Job, StoppedItStillGivesLateRanksTheirOps) {
  PlayedJob played(job_of(2));
  Job job({.late = {{1, Duration::ms(20)}}}, played.raw());
  ASSERT_TRUE(played.join());
  job.run(played.now);
  const std::uint64_t issued = job.issued();
  EXPECT_EQ(issued, 4u) << "as many as may be open";
  job.stop();
  EXPECT_FALSE(job.done());
  ASSERT_TRUE(played.run_until([&] {
    job.run(played.now);
    return job.done();
  }));
  EXPECT_EQ(job.issued(), issued);
}

}  // namespace
}  // namespace tributary::loadgen
