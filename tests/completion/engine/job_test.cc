#include "completion/engine/job.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/core/survived_breaches.h"

namespace tributary::completion {
namespace {

constexpr Instant kNow = Instant::from_ns(1000);

JobLimits limits(std::uint64_t chunks) {
  JobLimits l;
  l.id = 7;
  l.workers = 3;
  l.window = 4;
  l.piece_bytes = 100;
  l.deadline = Duration::ms(1);
  l.bytes = chunks * 3 * buffer_bytes(l);
  return l;
}

aggregator::ChunkDescription at(std::uint32_t op, std::uint32_t chunk) {
  aggregator::ChunkDescription d;
  d.op = op;
  d.chunk = chunk;
  return d;
}

TEST(Job, WhatCanNeverFinishAChunkIsRefusedWithTheFigures) {
  JobLimits l = limits(1);
  --l.bytes;
  try {
    Job job(l);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("383 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("384"), std::string::npos) << e.what();
  }
  l = limits(1);
  l.window = 3;
  EXPECT_THROW(Job{l}, std::invalid_argument);
  l = limits(1);
  l.workers = 0;
  EXPECT_THROW(Job{l}, std::invalid_argument);
}

TEST(Job, ASeqIsFoundUntilItsPlaceIsTakenTwoWindowsOn) {
  Job job(limits(4));
  job.start(1, 10, 0);
  Chunk* chunk = nullptr;
  EXPECT_EQ(job.find(0, 9, chunk), Job::Find::stale);
  EXPECT_EQ(job.find(0, 10, chunk), Job::Find::none);
  Chunk* ten = job.open(0, 10, at(0, 0), kNow);
  ASSERT_NE(ten, nullptr);
  EXPECT_EQ(job.find(0, 10, chunk), Job::Find::found);
  EXPECT_EQ(chunk, ten);
  EXPECT_EQ(job.find(0, 18, chunk), Job::Find::none);
  ASSERT_EQ(job.open(0, 18, at(0, 8), kNow), ten);
  EXPECT_EQ(job.find(0, 10, chunk), Job::Find::stale);
  EXPECT_EQ(job.find(0, 11, chunk), Job::Find::none);
}

TEST(Job, SeqsWrap) {
  Job job(limits(4));
  job.start(1, 0xFFFFFFFE, 0);
  Chunk* chunk = nullptr;
  EXPECT_EQ(job.find(0, 0xFFFFFFFD, chunk), Job::Find::stale);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t seq = 0xFFFFFFFE + i;
    ASSERT_EQ(job.find(0, seq, chunk), Job::Find::none) << i;
    Chunk* opened = job.open(0, seq, at(0, i), kNow);
    ASSERT_NE(opened, nullptr) << i;
    EXPECT_EQ(job.find(0, seq, chunk), Job::Find::found) << i;
    Piece& piece = *job.take_piece();
    job.join(*opened, piece);
    job.complete(*opened, piece);
    job.release(*opened);
    EXPECT_EQ(job.find(0, seq - 8, chunk), Job::Find::stale) << i;
  }
}

// No rank can go on without the earliest chunk, so it never waits for memory.
TEST(Job, AnEarlierChunkTakesTheMemoryOfTheLatest) {
  Job job(limits(2));
  job.start(1, 0, 0);
  ASSERT_NE(job.open(0, 2, at(0, 2), kNow), nullptr);
  ASSERT_NE(job.open(0, 3, at(1, 0), kNow), nullptr);
  EXPECT_EQ(job.open(0, 4, at(1, 1), kNow), nullptr);
  EXPECT_EQ(job.counters.given_up.get(), 0u);
  ASSERT_NE(job.open(0, 1, at(0, 1), kNow), nullptr);
  EXPECT_EQ(job.counters.given_up.get(), 1u);
  Chunk* chunk = nullptr;
  EXPECT_EQ(job.find(0, 2, chunk), Job::Find::found);
  EXPECT_EQ(job.find(0, 3, chunk), Job::Find::none);
  EXPECT_EQ(job.open_count(), 2u);
}

TEST(Job, WhatAChunkHeldIsFreeWhenItIsGivenUp) {
  Job job(limits(1));
  job.start(1, 0, 0);
  Chunk* late = job.open(0, 2, at(0, 2), kNow);
  Piece& piece = *job.take_piece();
  insert(piece.ranks, 1);
  job.join(*late, piece);
  EXPECT_EQ(job.counters.bytes_held.get(), 128u);
  ASSERT_NE(job.open(0, 1, at(0, 1), kNow), nullptr);
  job.refresh_gauges();
  EXPECT_EQ(job.counters.bytes_held.get(), 0u);
  EXPECT_EQ(job.counters.bytes_high_water.get(), 128u);
  job.stop(JobState::idle);
  EXPECT_EQ(job.deadlines.due(kNow + Duration::seconds(1)), nullptr);
}

TEST(Job, AResultKeepsOnePieceUntilItIsReleased) {
  JobLimits l = limits(1);
  l.root_is_here = false;
  l.bytes = least_bytes(l);
  Job job(l);
  job.start(1, 0, 0);
  Chunk* chunk = job.open(0, 0, at(0, 0), kNow);
  Piece* piece = nullptr;
  for (std::uint32_t r = 0; r < 3; ++r) {
    piece = job.take_piece();
    insert(piece->ranks, r);
    job.join(*chunk, *piece);
  }
  EXPECT_EQ(chunk->covered_count, 3u);
  job.complete(*chunk, *piece);
  job.refresh_gauges();
  EXPECT_EQ(job.counters.bytes_held.get(), 128u);
  EXPECT_EQ(job.counters.chunks_open.get(), 0u);
  job.release_before(0, 0);
  EXPECT_EQ(chunk->state, ChunkState::complete);
  job.release_before(0, 1);
  EXPECT_EQ(chunk->state, ChunkState::released);
  job.refresh_gauges();
  EXPECT_EQ(job.counters.bytes_held.get(), 0u);
}

TEST(Job, AnEpochsEndLeavesNothing) {
  Job job(limits(4));
  job.start(1, 0, 0);
  for (std::uint32_t seq = 0; seq < 4; ++seq) {
    Chunk* chunk = job.open(0, seq, at(0, seq), kNow);
    Piece& piece = *job.take_piece();
    insert(piece.ranks, seq % 3);
    job.join(*chunk, piece);
  }
  job.stop(JobState::idle);
  EXPECT_EQ(job.counters.bytes_held.get(), 0u);
  EXPECT_EQ(job.counters.chunks_open.get(), 0u);
  EXPECT_EQ(job.first_open(), nullptr);
  EXPECT_EQ(job.deadlines.due(kNow + Duration::seconds(1)), nullptr);
}

// By a defect: what could count a rank twice counts for nothing.
TEST(Job, PiecesOfAChunkAreDisjointOrTheJobIsBroken) {
  Job job(limits(4));
  job.start(1, 0, 0);
  Chunk* const chunk = job.open(0, 0, at(0, 0), kNow);
  const SurvivedBreaches breaches;
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_FALSE(job.broken);
    Piece& piece = *job.take_piece();
    insert(piece.ranks, 1);
    job.join(*chunk, piece);
  }
  EXPECT_TRUE(job.broken);
  EXPECT_EQ(breaches.count(), 1u);
  EXPECT_EQ(chunk->covered_count, 1u);
  EXPECT_EQ(chunk->piece_count, 1u);
  job.stop(JobState::aborted);
  EXPECT_FALSE(job.broken);
  EXPECT_EQ(breaches.count(), 1u) << "and no piece is lost";
}

TEST(Job, AChunkThatIsNotCompleteIsNotReleased) {
  Job job(limits(4));
  job.start(1, 0, 0);
  Chunk* const chunk = job.open(0, 0, at(0, 0), kNow);
  const SurvivedBreaches breaches;
  job.release(*chunk);
  EXPECT_TRUE(job.broken);
  EXPECT_EQ(breaches.count(), 1u);
  EXPECT_EQ(chunk->state, ChunkState::open);
}

// A piece that nothing knows of is there for the next epoch again.
TEST(Job, AnEpochsEndBringsBackWhatADefectHasLost) {
  Job job(limits(1));
  const SurvivedBreaches breaches;
  for (std::uint16_t epoch = 1; epoch < 4; ++epoch) {
    job.start(epoch, 0, 0);
    for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_NE(job.take_piece(), nullptr);
    EXPECT_FALSE(job.broken);
    EXPECT_EQ(job.take_piece(), nullptr);
    EXPECT_TRUE(job.broken);
    job.stop(JobState::aborted);
    EXPECT_EQ(breaches.count(), epoch * 2u);
  }
}

}  // namespace
}  // namespace tributary::completion
