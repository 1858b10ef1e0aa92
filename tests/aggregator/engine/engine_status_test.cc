// What is shown of jobs and chunks, a piece at a time, while they go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

constexpr std::size_t kPlenty = 1000;

class EngineStatus : public EngineTest {
 protected:
  void start(std::uint32_t window, std::uint8_t shards = 1) {
    auto job = test_job(3, window);
    job.shards = shards;
    build(test_switch({job}));
    join_all();
  }
  // A contribution of one rank, so that the chunk is open.
  void open(std::uint32_t seq, std::uint8_t shard = 0) {
    wire::Header h = data_header(0, seq, 1);
    h.shard = shard;
    const std::array<std::int32_t, 1> value = {1};
    deliver({h, {}, std::as_bytes(std::span(value))}, peer(0));
  }
  [[nodiscard]] static std::vector<std::uint32_t> seqs(const std::vector<SlotStatus>& slots) {
    std::vector<std::uint32_t> out;
    for (const SlotStatus& slot : slots) out.push_back(slot.seq);
    return out;
  }
};

TEST_F(EngineStatus, O1_ALookAtChunksIsOfSoManyPlacesOrRowsAndNoMore) {
  constexpr std::uint32_t kWindow = 16;
  start(kWindow, 2);
  for (std::uint32_t n = 0; n < kWindow; n += 2) open(first_seq_ + n);
  for (std::uint32_t n = 0; n < kWindow; n += 3) open(first_seq_ + n, 1);
  const auto whole = engine_->slot_status(now_, kPlenty);
  ASSERT_EQ(whole.size(), 8u + 6u);
  for (const SlotLimits limits : {SlotLimits{5, kPlenty}, SlotLimits{kPlenty, 3}}) {
    std::vector<SlotStatus> pieces;
    SlotPlace place;
    std::size_t looks = 0;
    for (bool more = true; more; ++looks) {
      const std::size_t before = pieces.size();
      more = engine_->slot_status(now_, Slots::held, place, limits, pieces);
      EXPECT_LE(pieces.size() - before, std::min(limits.looks, limits.rows));
    }
    EXPECT_EQ(seqs(pieces), seqs(whole));
    const std::size_t places = std::size_t{2} * 2 * kWindow;
    EXPECT_GE(looks, limits.looks < kPlenty ? places / limits.looks : whole.size() / limits.rows);
    EXPECT_FALSE(engine_->slot_status(now_, Slots::held, place, limits, pieces)) << "still";
    EXPECT_EQ(pieces.size(), whole.size());
  }
  EXPECT_EQ(engine_->slot_status(now_, 5).size(), 5u);
}

// Chunks are completed, others opened in their places, and epochs end, while a client looks. The
// operator asks the next day why the job began anew.
TEST_F(EngineStatus, O1_WhyTheLastEpochEndedIsKnownInTheNextOne) {
  start(4);
  EXPECT_EQ(engine_->job_status(now_, 0).last_abort, wire::Reason::none);
  open(first_seq_);
  join_all(1);  // each rank is another process now
  const JobStatus status = engine_->job_status(now_, 0);
  EXPECT_EQ(status.state, JobState::running);
  EXPECT_EQ(status.last_abort, wire::Reason::rank_restarted);
  open(first_seq_);  // the epoch before does not end this one
  EXPECT_EQ(engine_->job_status(now_, 0).state, JobState::running);
}

TEST_F(EngineStatus, O1_WhateverHappensBetweenTwoLooksNoChunkComesUpTwice) {
  constexpr std::uint32_t kSeed = 20260101;
  constexpr std::uint32_t kWindow = 8;
  std::mt19937 generator(kSeed);
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  start(kWindow);
  std::vector<std::uint32_t> next(workers_, first_seq_);
  std::size_t rows = 0;
  for (int round = 0; round < 300; ++round) {
    std::set<std::uint32_t> seen;
    std::vector<SlotStatus> piece;
    SlotPlace place;
    for (bool more = true; more;) {
      piece.clear();
      more = engine_->slot_status(now_, Slots::all, place, {1 + random() % 4, 2}, piece);
      for (const SlotStatus& slot : piece)
        ASSERT_TRUE(seen.insert(slot.seq).second) << slot.seq << ", seed " << kSeed;
      rows += piece.size();
      for (std::uint32_t n = random() % 6; n > 0; --n) {
        const std::uint32_t rank = random() % workers_;
        if (next[rank] - *std::min_element(next.begin(), next.end()) < kWindow)
          contribute(rank, next[rank]++, {1});
      }
    }
  }
  EXPECT_GT(rows, 300u);
  // An epoch ends in the middle: what was to come is not there any more.
  for (std::uint32_t n = 0; n < kWindow; ++n)
    if (next[0] - *std::min_element(next.begin(), next.end()) < kWindow)
      contribute(0, next[0]++, {1});
  std::vector<SlotStatus> pieces;
  SlotPlace place;
  ASSERT_TRUE(engine_->slot_status(now_, Slots::all, place, {kPlenty, 1}, pieces));
  now_ = now_ + Duration::seconds(10);
  expire();
  ASSERT_EQ(status().state, JobState::aborted);
  EXPECT_FALSE(engine_->slot_status(now_, Slots::all, place, {kPlenty, kPlenty}, pieces));
  EXPECT_EQ(pieces.size(), 1u);
}

// A shard that is handed over in the middle is none of this thread's.
TEST_F(EngineStatus, O1_AShardThatGoesBetweenTwoLooksIsLeftOut) {
  start(4, 2);
  for (std::uint32_t n = 0; n < 4; ++n) open(first_seq_ + n);
  open(first_seq_, 1);
  std::vector<SlotStatus> pieces;
  SlotPlace place;
  ASSERT_TRUE(engine_->slot_status(now_, Slots::held, place, {kPlenty, 1}, pieces));
  const auto away = engine_->hand_over(0);
  EXPECT_FALSE(engine_->slot_status(now_, Slots::held, place, {kPlenty, kPlenty}, pieces));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].shard, 1);
  engine_->take_back(away, *outbox_);
}

TEST_F(EngineStatus, O1_AJobAtATime) {
  auto other = test_job(2);
  other.id = kJob + 1;
  build(test_switch({test_job(3), other}));
  join_all();
  const auto all = engine_->job_status(now_);
  ASSERT_EQ(all.size(), 2u);
  for (std::size_t index = 0; index < all.size(); ++index) {
    const JobStatus one = engine_->job_status(now_, index);
    EXPECT_EQ(one.id, kJob + index);
    EXPECT_EQ(one.id, all[index].id);
    EXPECT_EQ(one.state, index == 0 ? JobState::running : JobState::idle);
    EXPECT_EQ(one.members.size(), 3 - index);
  }
}

}  // namespace
}  // namespace tributary::aggregator
