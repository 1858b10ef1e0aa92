// A defect in what a shard knows of one job ends that job's epoch, and no other's; and what was
// summed wrongly reaches no rank.
#include <array>

#include "aggregator/shard/shard.h"
#include "tests/aggregator/engine_fixture.h"
#include "tests/core/survived_breaches.h"

namespace tributary::aggregator {
namespace {

class BrokenShard : public EngineTest {
 protected:
  static constexpr std::uint32_t kOther = 8;

  void SetUp() override {
    auto other = test_job(2);
    other.id = kOther;
    other.chunk_bytes = 128;  // buffers of another size
    build(test_switch({test_job(2), other}));
    join_all();
    other_epoch_ = join_other();
  }
  std::uint16_t join_other() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      std::array<std::byte, 16> buffer;
      wire::ExtensionWriter ext(buffer);
      ext.add_nonce(nonce(rank, 0));
      wire::Header h = header(wire::PacketType::join, rank);
      h.job = kOther;
      deliver({h, ext.bytes(), {}}, peer(rank));
    }
    EXPECT_EQ(sent_.at(0).header.type, wire::PacketType::start);
    return sent_.at(0).header.epoch;
  }
  // What the shard knows of a job.
  [[nodiscard]] ShardJob& inside(std::uint32_t place) {
    const std::shared_ptr<Shard> shard = engine_->hand_over(0);
    engine_->take_back(shard, *outbox_);
    return const_cast<ShardJob&>(*shard->find_job(place));
  }
  // The other job's chunks are as they would be without any of this.
  void expect_other_goes_on(std::uint32_t seq) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const std::array<std::int32_t, 1> value = {static_cast<std::int32_t>(rank) + 1};
      wire::Header h = data_header(rank, seq, 1);
      h.job = kOther;
      h.epoch = other_epoch_;
      deliver({h, {}, std::as_bytes(std::span(value))}, peer(rank));
    }
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.type, wire::PacketType::result);
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), (std::vector<std::int32_t>{3}));
  }
  // Nothing was said but that the epoch is over; then the job can be joined anew, and works.
  void expect_only_this_epoch_ends() {
    expire();
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.type, wire::PacketType::abort);
    EXPECT_EQ(sent_[0].header.job, kJob);
    EXPECT_EQ(sent_[0].header.reason, wire::Reason::broken_invariant);
    EXPECT_EQ(counters().aborts_broken.get(), 1u);
    EXPECT_EQ(engine_->job_status(now_, 0).last_abort, wire::Reason::broken_invariant);
    EXPECT_EQ(engine_->job_status(now_, 1).state, JobState::running);
    expect_other_goes_on(first_seq_);
    expire();
    EXPECT_TRUE(sent_.empty()) << "once";
    join_all(1);
    complete(first_seq_);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), (std::vector<std::int32_t>{3}));
  }

  std::uint16_t other_epoch_ = 0;
};

TEST_F(BrokenShard, WithoutADefectNothingIsCounted) {
  const SurvivedBreaches breaches;
  complete(first_seq_);
  EXPECT_EQ(sent_.size(), 1u);
  expire();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(counters().aborts_broken.get(), 0u);
  EXPECT_EQ(breaches.count(), 0u);
}

TEST_F(BrokenShard, AChunkForWhichThereIsNoBuffer) {
  const SurvivedBreaches breaches;
  BufferPool& buffers = inside(0).buffers;
  std::vector<std::uint32_t> stolen;
  while (buffers.free() > 0) stolen.push_back(buffers.take());
  EXPECT_EQ(contribute(0, first_seq_, {1}).reason, DropReason::aborted);
  EXPECT_EQ(breaches.count(), 1u);
  contribute(1, first_seq_, {2});
  EXPECT_TRUE(sent_.empty()) << "a result of nothing";
  for (const std::uint32_t buffer : stolen) EXPECT_TRUE(buffers.put(buffer));
  expect_only_this_epoch_ends();
}

TEST_F(BrokenShard, ABufferThatIsPutBackTwice) {
  const SurvivedBreaches breaches;
  ShardJob& job = inside(0);
  contribute(0, first_seq_, {1});
  const std::uint32_t buffer = job.table.entry_for(first_seq_).buffer;
  EXPECT_TRUE(job.buffers.put(buffer));
  contribute(1, first_seq_, {2});
  complete(first_seq_ + 1);  // in the same buffer
  // Both children hold the first result: its buffer goes, and then the other chunk's, which it is.
  acknowledge(0, first_seq_ + 2);
  acknowledge(1, first_seq_ + 2);
  EXPECT_EQ(breaches.count(), 1u);
  expect_only_this_epoch_ends();
}

TEST_F(BrokenShard, AChunkOfWhichAChildIsMissingThatWasCounted) {
  const SurvivedBreaches breaches;
  ShardJob& job = inside(0);
  contribute(0, first_seq_, {1});
  job.table.entry_for(first_seq_).arrived_low = 0;
  contribute(0, first_seq_, {1});
  EXPECT_TRUE(sent_.empty()) << "the same child's data twice is no sum";
  EXPECT_EQ(breaches.count(), 1u);
  expect_only_this_epoch_ends();
}

TEST_F(BrokenShard, AResultThatIsReleasedAndIsNone) {
  const SurvivedBreaches breaches;
  ShardJob& job = inside(0);
  complete(first_seq_);
  job.table.entry_for(first_seq_).state = ChunkState::open;
  acknowledge(0, first_seq_ + 1);
  acknowledge(1, first_seq_ + 1);
  EXPECT_GE(breaches.count(), 1u);
  expect_only_this_epoch_ends();
}

TEST_F(BrokenShard, WhatComesBeforeTheEpochsEndIsAnsweredWithNothing) {
  const SurvivedBreaches breaches;
  ShardJob& job = inside(0);
  complete(first_seq_);
  contribute(0, first_seq_ + 1, {1});
  job.table.entry_for(first_seq_ + 1).arrived_low = 0;
  contribute(0, first_seq_ + 1, {1});
  EXPECT_EQ(breaches.count(), 1u);
  probe(1, first_seq_);
  EXPECT_TRUE(sent_.empty()) << "nor is a result that may be good";
  expect_only_this_epoch_ends();
}

}  // namespace
}  // namespace tributary::aggregator
