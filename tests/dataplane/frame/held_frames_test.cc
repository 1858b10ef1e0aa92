// Sums that wait for several bursts of a turn, and the frames that wait with them.
#include "dataplane/frame/held_frames.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kRanks = 6;
constexpr std::uint32_t kChunks = kBurst;
static_assert(std::size_t{kRanks} * kChunks > HeldFrames::kMost, "one turn fills them");

config::SwitchConfig six_ranks() {
  auto config = test_config(kRanks);
  config::JobConfig job;
  job.id = 5;
  job.name = "job";
  job.workers = kRanks;
  job.window = kChunks;
  job.chunk_bytes = 64;
  job.deadline = Duration::seconds(1);
  config.jobs = {job};
  return config;
}

// A rank behind each port, whose devices have checked what they receive.
class SumsThatWait : public testing::Test {
 protected:
  SumsThatWait() : sw_(six_ranks(), config::Machine{}, true) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      ranks_.emplace_back(sw_.config(), 5, rank, std::uint16_t{kRanks});
      sw_.inject(rank, ranks_[rank].join(100 + rank));
    }
    sw_.turn();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto start = read_packet(sw_.sent(rank).back());
      ranks_[rank].epoch = start->packet.header.epoch;
    }
    free_ = rte_mempool_avail_count(sw_.pool());
  }

  // What each rank sends adds a digit of its own.
  void send(std::uint32_t first_rank, std::uint32_t end) {
    std::int32_t digit = 1;
    for (std::uint32_t rank = 0; rank < end; ++rank, digit *= 10)
      for (std::uint32_t seq = 0; rank >= first_rank && seq < kChunks; ++seq)
        sw_.inject(rank, ranks_[rank].contribution(seq, std::array{digit, -digit}));
  }
  // Other frames' bytes are in what the loop has given back.
  void overwrite_free_frames() {
    std::vector<rte_mbuf*> all;
    while (rte_mbuf* const frame = rte_pktmbuf_alloc(sw_.pool())) {
      std::memset(rte_pktmbuf_mtod(frame, void*), 0x77, rte_pktmbuf_tailroom(frame));
      all.push_back(frame);
    }
    for (rte_mbuf* const frame : all) rte_pktmbuf_free(frame);
  }
  void expect_results() {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto frames = sw_.sent(rank);
      ASSERT_EQ(frames.size(), kChunks);
      for (const Bytes& frame : frames) {
        const auto result = read_packet(frame);
        ASSERT_TRUE(result);
        const std::array expected = {111'111, -111'111};
        ASSERT_EQ(result->packet.payload.size(), sizeof expected);
        EXPECT_EQ(std::memcmp(result->packet.payload.data(), expected.data(), sizeof expected), 0);
      }
    }
    EXPECT_EQ(rte_mempool_avail_count(sw_.pool()), free_) << "every frame is free again";
  }

  RingSwitch sw_;
  std::vector<TestWorker> ranks_;
  unsigned free_ = 0;
};

TEST_F(SumsThatWait, MoreFramesThanMayBeHeldMakeTheSameSums) {
  send(0, kRanks);
  sw_.turn();
  expect_results();
}

// At the end of a turn nothing waits: its frames are reused then.
TEST_F(SumsThatWait, NoFrameIsNeededAfterItsTurn) {
  send(0, kRanks - 1);
  sw_.turn();
  EXPECT_EQ(rte_mempool_avail_count(sw_.pool()), free_);
  overwrite_free_frames();
  send(kRanks - 1, kRanks);
  sw_.turn();
  expect_results();
}

// Large ones fill it earlier.
TEST_F(SumsThatWait, HeldFramesAreBoundedInNumberAndInBytes) {
  HeldFrames held;
  std::size_t most = 0;
  for (const std::uint32_t bytes : {1'000u, 9'000u}) {
    std::size_t count = 0;
    for (; !held.is_full(); ++count) {
      rte_mbuf* const frame = rte_pktmbuf_alloc(sw_.pool());
      ASSERT_NE(frame, nullptr);
      frame->pkt_len = bytes;
      held.add(frame);
    }
    EXPECT_LE(count * bytes, HeldFrames::kMostBytes + bytes);
    EXPECT_LE(count, HeldFrames::kMost - kBurst + 1);
    EXPECT_GT(count, 0u);
    EXPECT_TRUE(most == 0 || count < most);
    most = count;
    held.free_all();
    EXPECT_TRUE(held.empty());
  }
  EXPECT_EQ(rte_mempool_avail_count(sw_.pool()), free_);
}

}  // namespace
}  // namespace tributary::dataplane
