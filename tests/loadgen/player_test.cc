#include "tools/loadgen/player.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loadgen/played_job.h"
#include "tools/loadgen/report.h"

namespace tributary::loadgen {
namespace {

// Issues so many ops on every rank, and waits for all results.
bool play(PlayedJob& played, std::uint64_t ops) {
  if (!played.join()) return false;
  return played.run_until([&] {
    bool finished = true;
    for (const auto& player : played.players) {
      while (player->issued() < ops && player->can_issue()) player->issue(played.now);
      finished = finished && player->finished() == ops;
    }
    return finished;
  });
}

PlayerCounts sum_of(const PlayedJob& played) {
  Figures sum;
  for (const auto& player : played.players) sum.add(*player);
  return sum.counts;
}

TEST(Player, EveryResultIsTheKnownSumAndIsTimed) {
  PlayedJob played(job_of(3, 2));
  ASSERT_TRUE(play(played, 20));
  for (const auto& player : played.players) {
    EXPECT_EQ(player->counts().verified, 20 * PlayedJob::kOpChunks);
    EXPECT_EQ(player->counts().verified_bytes, 20 * PlayedJob::kOpChunks * 256);
    EXPECT_EQ(player->counts().wrong, 0u);
    EXPECT_EQ(player->latencies().count(), 20 * PlayedJob::kOpChunks);
    EXPECT_EQ(player->failure(), "");
  }
  EXPECT_EQ(played.refused(), 0u);
}

TEST(Player, SealsWhatTheJobCoversWithCrc32c) {
  config::JobConfig job = job_of(2, 2);
  job.integrity = wire::Integrity::crc32c;
  PlayedJob played(job, {}, wire::DType::int32);
  ASSERT_TRUE(play(played, 10));
  EXPECT_EQ(sum_of(played).verified, 2 * 10 * PlayedJob::kOpChunks);
  EXPECT_EQ(played.refused(), 0u);
}

TEST(Player, LossIsRepairedAndResultsStayExact) {
  PlayedJob played(job_of(3, 2), {.lose_ppm = 30'000, .duplicate_ppm = 30'000});
  ASSERT_TRUE(play(played, 100));
  const PlayerCounts sum = sum_of(played);
  EXPECT_EQ(sum.verified, 3 * 100 * PlayedJob::kOpChunks);
  EXPECT_EQ(sum.wrong, 0u);
  EXPECT_GT(sum.lost_sent, 0u);
  EXPECT_GT(sum.lost_received, 0u);
  EXPECT_GT(sum.duplicated, 0u);
}

TEST(Player, GarbageIsRefusedAndChangesNoResult) {
  PlayedJob played(job_of(2, 2), {.garbage_ppm = 500'000});
  ASSERT_TRUE(play(played, 100));
  const PlayerCounts sum = sum_of(played);
  EXPECT_EQ(sum.verified, 2 * 100 * PlayedJob::kOpChunks);
  EXPECT_EQ(sum.wrong, 0u);
  EXPECT_GT(sum.garbage, 300u);
  EXPECT_EQ(played.refused(), sum.garbage) << "all of it, and nothing else";
}

TEST(Player, DataThatIsNotWhatIsKnownIsFound) {
  PlayedJob played(job_of(2, 2), {.falsify_ppm = 20'000});
  ASSERT_TRUE(play(played, 100));
  const PlayerCounts sum = sum_of(played);
  ASSERT_GT(sum.falsified, 0u);
  EXPECT_EQ(played.refused(), 0u) << "its checksum is right: only the comparison can tell";
  EXPECT_GT(sum.wrong, 0u);
  EXPECT_LE(sum.wrong, 2 * sum.falsified) << "a falsified chunk is wrong on both ranks";
  EXPECT_EQ(sum.wrong + sum.verified, 2 * 100 * PlayedJob::kOpChunks);
  EXPECT_THAT(played.players[0]->first_wrong(), testing::HasSubstr("job 7 rank 0: op "));
}

TEST(Player, WaitsForRoom) {
  PlayedJob played(job_of(2, 2));
  ASSERT_TRUE(played.join());
  played.sink.room = false;
  for (const auto& player : played.players) player->issue(played.now);
  for (const auto& player : played.players)
    EXPECT_TRUE(player->poll(played.now + Duration::us(1), played.sink)) << "it has something";
  EXPECT_TRUE(played.sink.frames.empty());
  played.sink.room = true;
  EXPECT_TRUE(played.run_until([&] { return played.players[0]->finished() == 1; }));
}

TEST(Player, WhatFindsNoRoomIsSentLaterAndNothingIsLost) {
  PlayedJob played(job_of(2, 2));
  ASSERT_TRUE(played.join());
  played.sink.most = 3;
  ASSERT_TRUE(play(played, 20));
  EXPECT_EQ(sum_of(played).verified, 2 * 20 * PlayedJob::kOpChunks);
  for (const auto& player : played.players) {
    EXPECT_EQ(player->session_counters().contributions.get(), 20 * PlayedJob::kOpChunks);
    EXPECT_EQ(player->session_counters().resends.get(), 0u);
    EXPECT_EQ(player->counts().no_buffer, 0u);
  }
}

TEST(Player, RefusesASwitchWithOtherChunks) {
  config::JobConfig job = job_of(1, 2);
  PlayedJob played(job);
  PlayerOptions o = played.players[0]->options();
  o.chunk_bytes = 128;
  const Pattern pattern(wire::DType::float32, 7, 1, 128);
  played.players[0] = std::make_unique<Player>(o, pattern, played.now);
  ASSERT_TRUE(
      played.run_until([&] { return played.players[0]->state() == worker::SessionState::failed; }));
  EXPECT_THAT(played.players[0]->failure(),
              testing::HasSubstr("the switch says chunk_bytes 256, the configuration 128"));
}

TEST(Player, LeavesWithoutCallingThatAFailure) {
  PlayedJob played(job_of(2, 2));
  ASSERT_TRUE(play(played, 1));
  for (const auto& player : played.players) player->leave(played.now);
  ASSERT_TRUE(
      played.run_until([&] { return played.players[1]->state() == worker::SessionState::left; }));
  EXPECT_EQ(played.players[1]->failure(), "");
}

}  // namespace
}  // namespace tributary::loadgen
