// Clients that describe frames as they like: what is right arrives, whatever comes with it.
#include "dataplane/memif/memif_rx_ring.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "core/net/frame.h"
#include "core/wire/header.h"
#include "dataplane/memif/lent_frame.h"
#include "tests/dataplane/memif/ring_fixture.h"

namespace tributary::dataplane {
namespace {

using worker::memif::Descriptor;
using worker::memif::kDescriptorNext;

class RxRingTimed : public RingFixture {
 protected:
  std::vector<Bytes> receive(std::uint16_t capacity = kBurst) {
    std::array<rte_mbuf*, kBurst> frames{};
    const std::uint16_t count =
        connection.rx(0).receive(pool->get(), frames.data(), capacity, losses);
    EXPECT_LE(count, capacity);
    std::vector<Bytes> out;
    for (std::uint16_t i = 0; i < count; ++i) out.push_back(take_bytes(frames[i]));
    return out;
  }
  // An honest frame is received, and nothing else.
  void expect_works() {
    memory.send(100, std::byte{9});
    EXPECT_EQ(receive(), std::vector<Bytes>{Bytes(100, std::byte{9})});
    EXPECT_EQ(tail(), memory.ring(true).head) << "all is given back";
  }
  [[nodiscard]] std::uint16_t tail() const { return memory.ring(true).tail; }
  void show(std::uint16_t flags, std::uint32_t length, std::uint32_t offset = memory_begin,
            std::uint16_t region = 0) {
    memory.show(true, {flags, region, length, offset, 0});
  }
  static constexpr std::uint32_t memory_begin = ClientMemory::kBuffers;

  MemifRxLosses losses;
};

TEST_F(RxRingTimed, FramesArriveInTheirOrder) {
  EXPECT_TRUE(receive().empty());
  for (int i = 1; i <= 40; ++i)
    memory.send(60 + static_cast<std::size_t>(i), static_cast<std::byte>(i),
                memory_begin + 4096 * static_cast<std::uint32_t>(i));
  const auto first = receive();
  ASSERT_EQ(first.size(), std::size_t{kBurst});
  EXPECT_EQ(tail(), kBurst);
  EXPECT_EQ(first[0], Bytes(61, std::byte{1}));
  EXPECT_EQ(first[31], Bytes(92, std::byte{32}));
  const auto rest = receive(5);
  ASSERT_EQ(rest.size(), 5u);
  EXPECT_EQ(rest[4], Bytes(97, std::byte{37}));
  EXPECT_EQ(receive().size(), 3u);
  EXPECT_EQ(losses.unusable.get(), 0u);
}

TEST_F(RxRingTimed, IndicesWrap) {
  for (int round = 0; round < 3 * 65536 / 32; ++round) {
    for (int i = 0; i < 32; ++i) memory.send(64, std::byte{1});
    ASSERT_EQ(receive().size(), 32u);
  }
  expect_works();
}

TEST_F(RxRingTimed, PiecesBecomeOneFrame) {
  std::memset(memory.at(memory_begin), 1, 1000);
  std::memset(memory.at(memory_begin + 5000), 2, 500);
  show(kDescriptorNext, 1000);
  show(kDescriptorNext, 0, memory_begin + 5000);
  show(0, 500, memory_begin + 5000);
  Bytes whole(1000, std::byte{1});
  whole.resize(1500, std::byte{2});
  EXPECT_EQ(receive(), std::vector<Bytes>{whole});
  expect_works();
}

TEST_F(RxRingTimed, C1_APlaceThatIsNoneOfTheClientsIsDropped) {
  const auto bytes = static_cast<std::uint32_t>(memory.bytes());
  show(0, 100, memory_begin, 1);
  show(0, 100, memory_begin, 65535);
  show(0, 100, bytes - 99);
  show(0, 100, 0xFFFFFFFF);
  show(0, 0xFFFFFFFF);
  show(0, 0xFFFFFFFF, 0xFFFFFFFF);
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(losses.unusable.get(), 6u);
  EXPECT_EQ(tail(), 6);
  expect_works();
}

TEST_F(RxRingTimed, C1_OneWrongPieceSpoilsItsFrameAlone) {
  show(kDescriptorNext, 100);
  show(kDescriptorNext, 100, 0xFFFFFFF0);
  show(0, 100);
  expect_works();
  EXPECT_EQ(losses.unusable.get(), 1u);
}

TEST_F(RxRingTimed, C1_AFrameIsNeitherEmptyNorLongerThanABuffer) {
  show(0, 0);
  show(0, kRoom + 1);
  show(kDescriptorNext, kRoom);
  show(0, 1);
  expect_works();
  EXPECT_EQ(losses.unusable.get(), 3u);
  std::memset(memory.at(memory_begin), 3, kRoom);
  show(0, kRoom);
  EXPECT_EQ(receive(), std::vector<Bytes>{Bytes(kRoom, std::byte{3})});
}

// A chain that goes round and round: all that is in the ring, and what comes after.
TEST_F(RxRingTimed, C1_AChainWithoutAnEndIsDroppedOnceAndGivenBack) {
  for (int i = 0; i < ClientMemory::kSize; ++i) show(kDescriptorNext, 1);
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(losses.unusable.get(), 1u);
  EXPECT_EQ(tail(), ClientMemory::kSize) << "it may send again";
  for (int i = 0; i < 50; ++i) show(kDescriptorNext, 1);
  EXPECT_TRUE(receive().empty());
  show(0, 1);
  expect_works();
  EXPECT_EQ(losses.unusable.get(), 1u);
}

TEST_F(RxRingTimed, C1_AFrameHasSoManyPiecesAndNoMore) {
  for (int i = 0; i < MemifRxRing::kMostPieces; ++i)
    show(i + 1 < MemifRxRing::kMostPieces ? kDescriptorNext : 0, 1);
  EXPECT_EQ(receive().size(), 1u);
  for (int i = 0; i <= MemifRxRing::kMostPieces; ++i)
    show(i < MemifRxRing::kMostPieces ? kDescriptorNext : 0, 1);
  expect_works();
  EXPECT_EQ(losses.unusable.get(), 1u);
}

TEST_F(RxRingTimed, AFrameWhoseEndIsNotShownYetWaits) {
  std::memset(memory.at(memory_begin), 4, 20);
  show(kDescriptorNext, 10);
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(tail(), 0);
  show(0, 10, memory_begin + 10);
  EXPECT_EQ(receive(), std::vector<Bytes>{Bytes(20, std::byte{4})});
}

TEST_F(RxRingTimed, C1_ABurstsWorkIsBounded) {
  for (int i = 0; i < ClientMemory::kSize; ++i) show(0, 0);
  for (int calls = 0; tail() != ClientMemory::kSize; ++calls) {
    const std::uint16_t before = tail();
    EXPECT_TRUE(receive().empty());
    EXPECT_LE(tail() - before, MemifRxRing::kMostLooks);
    ASSERT_LT(calls, 3);
  }
  expect_works();
}

TEST_F(RxRingTimed, C1_AHeadThatJumpsBreaksTheRing) {
  memory.send(100, std::byte{1});
  memory.ring(true).head = static_cast<std::uint16_t>(ClientMemory::kSize + 1);
  EXPECT_TRUE(receive().empty());
  EXPECT_TRUE(connection.rx(0).broken());
  EXPECT_TRUE(connection.broken());
  memory.ring(true).head = 1;
  EXPECT_TRUE(receive().empty()) << "for good";
  EXPECT_EQ(losses.unusable.get(), 0u);
}

TEST_F(RxRingTimed, C1_WithoutPacketBuffersFramesWait) {
  std::vector<rte_mbuf*> others(kBuffers - 2);
  for (rte_mbuf*& other : others) ASSERT_NE(other = rte_pktmbuf_alloc(pool->get()), nullptr);
  for (int i = 0; i < 5; ++i) memory.send(64, std::byte{1});
  EXPECT_EQ(receive().size(), 2u);
  EXPECT_EQ(losses.no_buffers.get(), 1u);
  for (rte_mbuf* const other : others) rte_pktmbuf_free(other);
  EXPECT_EQ(receive().size(), 3u);
}

// A ring whose client and switch have agreed on it.
class LendingRxRingTimed : public RxRingTimed {
 protected:
  LendingRxRingTimed() : lending(offer()) {}
  [[nodiscard]] MemifOffer offer() const {
    MemifOffer of = memory.offer();
    of.unchecked = true;
    return of;
  }
  // A contribution as the library sends it, by its head; filled up with a value.
  [[nodiscard]] static Bytes contribution(std::size_t bytes, std::byte value) {
    Bytes frame(bytes, value);
    constexpr std::size_t kIp = wire::kEthernetBytes;
    constexpr std::size_t kHeader = wire::kUdpPayloadOffset;
    const auto put = [&](std::size_t at, int byte) { frame[at] = static_cast<std::byte>(byte); };
    put(kIp - 2, 0x08);  // IPv4
    put(kIp - 1, 0x00);
    put(kIp, 0x45);
    put(kIp + 6, 0);  // no fragment
    put(kIp + 7, 0);
    put(kIp + 9, 17);     // UDP
    put(kHeader - 2, 0);  // no checksum
    put(kHeader - 1, 0);
    put(kHeader + offsetof(wire::HeaderV1, type), 1);
    put(kHeader + offsetof(wire::HeaderV1, encoding), 0);
    put(kHeader + offsetof(wire::HeaderV1, extension_words), 0);
    return frame;
  }
  void send(const Bytes& frame) const {
    std::memcpy(memory.at(memory_begin), frame.data(), frame.size());
    memory.show(true, {0, 0, static_cast<std::uint32_t>(frame.size()), memory_begin, 0});
  }
  std::uint16_t receive_in_place() {
    return lending.rx(0).receive(pool->get(), frames.data(), kBurst, losses, in_place.data());
  }
  MemifConnection lending;
  std::array<rte_mbuf*, kBurst> frames{};
  std::array<const std::byte*, kBurst> in_place{};
};

TEST_F(LendingRxRingTimed, T14_AContributionStaysInTheClientsMemoryUntilItIsGivenBack) {
  const Bytes sent = contribution(1500, std::byte{7});
  send(sent);
  memory.send(100, std::byte{8}, memory_begin + 4096);
  ASSERT_EQ(receive_in_place(), 2);
  EXPECT_EQ(frames[0]->data_len, 1500);
  EXPECT_EQ(Bytes(in_place[0], in_place[0] + 1500), sent);
  EXPECT_EQ(in_place[1], nullptr);
  EXPECT_TRUE(lending.rx(0).has_lent());
  EXPECT_EQ(tail(), 0) << "the client may not write there yet";
  lending.rx(0).give_back();
  EXPECT_EQ(tail(), 2);
  EXPECT_FALSE(lending.rx(0).has_lent());
  Bytes head = take_bytes(frames[0]);
  head.resize(kLentHeadBytes);
  EXPECT_EQ(head, Bytes(sent.begin(), sent.begin() + kLentHeadBytes));
  EXPECT_EQ(take_bytes(frames[1]), Bytes(100, std::byte{8}));
}

TEST_F(LendingRxRingTimed, AnyOtherFrameIsCopied) {
  memory.send(1500, std::byte{7});
  ASSERT_EQ(receive_in_place(), 1);
  EXPECT_EQ(in_place[0], nullptr);
  EXPECT_FALSE(lending.rx(0).has_lent());
  EXPECT_EQ(take_bytes(frames[0]), Bytes(1500, std::byte{7}));
}

TEST_F(LendingRxRingTimed, WhoAsksForWholeFramesGetsThem) {
  const Bytes sent = contribution(1500, std::byte{7});
  send(sent);
  ASSERT_EQ(lending.rx(0).receive(pool->get(), frames.data(), kBurst, losses), 1);
  EXPECT_FALSE(lending.rx(0).has_lent());
  EXPECT_EQ(take_bytes(frames[0]), sent);
  EXPECT_EQ(tail(), 1);
}

TEST_F(LendingRxRingTimed, AContributionInPiecesIsCopied) {
  const Bytes sent = contribution(1500, std::byte{1});
  std::memcpy(memory.at(memory_begin), sent.data(), sent.size());
  show(kDescriptorNext, 1000);
  show(0, 500, memory_begin + 1000);
  ASSERT_EQ(receive_in_place(), 1);
  EXPECT_EQ(in_place[0], nullptr);
  EXPECT_FALSE(lending.rx(0).has_lent());
  EXPECT_EQ(take_bytes(frames[0]), sent);
}

TEST_F(LendingRxRingTimed, NothingIsLentByARingThatHasNotAgreed) {
  const Bytes sent = contribution(1500, std::byte{7});
  send(sent);
  ASSERT_EQ(connection.rx(0).receive(pool->get(), frames.data(), kBurst, losses, in_place.data()),
            1);
  EXPECT_EQ(in_place[0], nullptr);
  EXPECT_EQ(take_bytes(frames[0]), sent);
}

}  // namespace
}  // namespace tributary::dataplane
