// Clients that offer buffers as they like: each frame that is taken is freed, whatever becomes of
// it.
#include "dataplane/memif/memif_tx_ring.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/dataplane/memif/ring_fixture.h"

namespace tributary::dataplane {
namespace {

using worker::memif::Descriptor;
using worker::memif::kDescriptorNext;
using worker::memif::kRingNoInterrupts;

class TxRingTimed : public RingFixture {
 protected:
  static constexpr std::uint32_t kBegin = ClientMemory::kBuffers;

  // Sends frames of these lengths, and returns how many were taken.
  std::uint16_t send(const std::vector<std::size_t>& lengths, std::size_t segments = 1) {
    std::vector<rte_mbuf*> frames;
    for (const std::size_t length : lengths) {
      Bytes bytes(length);
      for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7);
      frames.push_back(make_frame(pool->get(), bytes, segments));
    }
    const std::uint16_t taken =
        connection.tx(0).transmit(frames.data(), static_cast<std::uint16_t>(frames.size()), unsent);
    for (std::size_t i = taken; i < frames.size(); ++i) rte_pktmbuf_free(frames[i]);
    return taken;
  }
  // What the client finds in the next descriptors.
  [[nodiscard]] Descriptor got(std::uint16_t index) const {
    return memory.descriptor(false, index);
  }
  [[nodiscard]] bool holds(std::uint32_t offset, std::size_t from, std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (memory.at(offset)[i] != static_cast<std::byte>((from + i) * 7)) return false;
    return true;
  }
  [[nodiscard]] std::uint16_t tail() const { return memory.ring(false).tail; }
  [[nodiscard]] std::uint64_t wakes() const {
    std::uint64_t count = 0;
    return ::read(memory.event(), &count, sizeof count) < 0 ? 0 : count;
  }

  Counter unsent;
};

TEST_F(TxRingTimed, FramesFillTheBuffersThatAreOffered) {
  memory.offer_buffer(2048, kBegin);
  memory.offer_buffer(2048, kBegin + 2048);
  EXPECT_EQ(send({100, 2048, 60}), 2u) << "a third one is not offered";
  EXPECT_EQ(tail(), 2);
  EXPECT_EQ(got(0).length, 100u);
  EXPECT_EQ(got(0).flags, 0);
  EXPECT_EQ(got(1).length, 2048u);
  EXPECT_TRUE(holds(kBegin, 0, 100) && holds(kBegin + 2048, 0, 2048));
  EXPECT_EQ(unsent.get(), 0u);
}

TEST_F(TxRingTimed, AFrameInSeveralBuffersBecomesOne) {
  memory.offer_buffer(2048);
  EXPECT_EQ(send({1500}, 3), 1u);
  EXPECT_EQ(got(0).length, 1500u);
  EXPECT_TRUE(holds(kBegin, 0, 1500));
}

TEST_F(TxRingTimed, ALongFrameIsAChain) {
  for (std::uint32_t i = 0; i < 3; ++i) memory.offer_buffer(600, kBegin + 1000 * i);
  EXPECT_EQ(send({1500}, 2), 1u);
  EXPECT_EQ(got(0).flags, kDescriptorNext);
  EXPECT_EQ(got(1).flags, kDescriptorNext);
  EXPECT_EQ(got(2).flags, 0);
  EXPECT_EQ(got(2).length, 300u);
  EXPECT_TRUE(holds(kBegin, 0, 600) && holds(kBegin + 1000, 600, 600) &&
              holds(kBegin + 2000, 1200, 300));
}

TEST_F(TxRingTimed, WhatDoesNotFitYetIsKept) {
  memory.offer_buffer(600);
  EXPECT_EQ(send({1000}), 0u);
  EXPECT_EQ(tail(), 0);
  EXPECT_EQ(got(0).length, 600u) << "the offer stands";
  memory.offer_buffer(600, kBegin + 1000);
  EXPECT_EQ(send({1000}), 1u);
}

TEST_F(TxRingTimed, C1_AClientThatOffersNothingGetsNothing) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(send({64, 64}), 0u);
  EXPECT_FALSE(connection.tx(0).broken());
}

TEST_F(TxRingTimed, C1_AnOfferThatIsNoneOfTheClientsMemoryCostsItsFrame) {
  const auto bytes = static_cast<std::uint32_t>(memory.bytes());
  memory.show(false, {0, 1, 2048, kBegin, 0});
  memory.show(false, {0, 0, 2048, bytes - 2047, 0});
  memory.show(false, {0, 0, 0xFFFFFFFF, 0xFFFFFFFF, 0});
  memory.show(false, {0, 0, 0, kBegin, 0});
  memory.offer_buffer(2048);
  EXPECT_EQ(send({64, 64, 64, 64, 100}), 5u);
  EXPECT_EQ(unsent.get(), 4u);
  for (std::uint16_t i = 0; i < 4; ++i) EXPECT_EQ(got(i).length, 0u) << i;
  EXPECT_EQ(got(4).length, 100u);
  EXPECT_TRUE(holds(kBegin, 0, 100));
}

TEST_F(TxRingTimed, C1_ManyTinyOffersCostTheirFrame) {
  for (int i = 0; i < ClientMemory::kSize; ++i) memory.offer_buffer(1);
  EXPECT_EQ(send({1000, 1000, 1000}), 2u);
  EXPECT_EQ(unsent.get(), 2u);
  EXPECT_EQ(tail(), ClientMemory::kSize) << "two of 64 each";
}

TEST_F(TxRingTimed, C1_AHeadThatJumpsBreaksTheRing) {
  memory.ring(false).head = static_cast<std::uint16_t>(ClientMemory::kSize + 1);
  EXPECT_EQ(send({64}), 0u);
  EXPECT_TRUE(connection.tx(0).broken());
}

TEST_F(TxRingTimed, WakesWhoAsksForIt) {
  for (int i = 0; i < 4; ++i) memory.offer_buffer(2048);
  EXPECT_EQ(send({64, 64}), 2u);
  EXPECT_EQ(wakes(), 1u) << "once a burst";
  memory.ring(false).flags = kRingNoInterrupts;
  EXPECT_EQ(send({64, 64}), 2u);
  EXPECT_EQ(wakes(), 0u);
}

// The writer waits until it is interrupted, as the link monitor does to a loop that stands.
TEST_F(TxRingTimed, C1_AnEventfdThatHoldsItsWriterUpBreaksTheRing) {
  memory.offer_buffer(2048);
  ASSERT_EQ(::fcntl(memory.event(), F_SETFL, 0), 0);
  const std::uint64_t full = UINT64_MAX - 1;
  ASSERT_EQ(::write(memory.event(), &full, sizeof full), static_cast<ssize_t>(sizeof full));
  struct sigaction interrupt {};
  interrupt.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &interrupt, nullptr), 0);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    EXPECT_EQ(send({64}), 1u);
    done.store(true);
  });
  while (!done.load()) {
    ::pthread_kill(writer.native_handle(), SIGUSR1);
    sched_yield();
  }
  writer.join();
  EXPECT_TRUE(connection.tx(0).broken());
}

}  // namespace
}  // namespace tributary::dataplane
