// A server that lies: the test maps the same memory and plays the other side.
#include "worker/transport/memif_rings.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>

#include <cstring>

#include "core/net/frame.h"
#include "core/wire/header.h"

namespace tributary::worker {
namespace {

class MemifRingsTest : public ::testing::Test {
 public:
  ~MemifRingsTest() override { ::munmap(memory_, rings_.memory_bytes()); }

 protected:
  MemifRingsTest()
      : memory_(
            static_cast<std::byte*>(::mmap(nullptr, rings_.memory_bytes(), PROT_READ | PROT_WRITE,
                                           MAP_SHARED, rings_.memory_fd(), 0))) {
    rings_.start();
  }

  memif::RingHeader& ring(bool to_server) {
    return *reinterpret_cast<memif::RingHeader*>(memory_ + MemifRings::ring_offset(to_server));
  }
  memif::Descriptor& descriptor(bool to_server, std::size_t index) {
    return reinterpret_cast<memif::Descriptor*>(memory_ + MemifRings::ring_offset(to_server) +
                                                sizeof(memif::RingHeader))[index];
  }
  // As a server would: fills the next offered buffer.
  void serve(std::uint8_t value, std::uint32_t length, std::uint16_t flags = 0) {
    memif::Descriptor& d = descriptor(false, ring(false).tail % MemifRings::kSize);
    std::memset(memory_ + d.offset, value, std::min<std::size_t>(length, d.length));
    d.length = length;
    d.flags = flags;
    ++ring(false).tail;
  }

  MemifRings rings_;
  std::byte* memory_;
  std::span<const std::byte> frame_;
};

TEST_F(MemifRingsTest, OffersBuffersThatDoNotOverlap) {
  const std::size_t depth = rings_.depth();
  EXPECT_EQ(ring(false).head, depth);
  for (std::size_t i = 1; i < depth; ++i)
    EXPECT_EQ(descriptor(false, i).offset - descriptor(false, i - 1).offset,
              MemifRings::kBufferBytes);
  EXPECT_EQ(ring(true).cookie, memif::kRingCookie);
  EXPECT_EQ(rings_.tx_room(), depth);
}

// The server sums where the elements lie, 64 bytes at a time.
TEST_F(MemifRingsTest, ElementsBeginOnACacheLine) {
  constexpr std::size_t kLine = 64;
  const std::size_t most = rings_.tx_frame().size();
  EXPECT_EQ(most, MemifRings::kMostTxBytes);
  for (std::size_t i = 0; i < rings_.depth(); ++i) {
    const std::span<std::byte> frame = rings_.tx_frame();
    frame.back() = std::byte{1};
    rings_.tx_commit(most);
    const memif::Descriptor& sent = descriptor(true, i);
    EXPECT_EQ((sent.offset + wire::kUdpPayloadOffset + wire::kHeaderBytes) % kLine, 0u) << i;
    EXPECT_EQ(memory_[sent.offset + most - 1], std::byte{1}) << i;
    EXPECT_LE(sent.offset + most, rings_.memory_bytes());
  }
  for (std::size_t i = 1; i < rings_.depth(); ++i)
    EXPECT_EQ(descriptor(true, i).offset - descriptor(true, i - 1).offset,
              MemifRings::kBufferBytes);
}

TEST_F(MemifRingsTest, FramesAreReadInPlaceAndGivenBack) {
  serve(7, 100);
  serve(8, 200);
  ASSERT_EQ(rings_.rx_next(frame_), MemifRings::Rx::frame);
  EXPECT_EQ(frame_.size(), 100u);
  EXPECT_EQ(frame_[99], std::byte{7});
  ASSERT_EQ(rings_.rx_next(frame_), MemifRings::Rx::frame);
  EXPECT_EQ(frame_[199], std::byte{8});
  EXPECT_EQ(rings_.rx_next(frame_), MemifRings::Rx::none);
  EXPECT_EQ(ring(false).head, rings_.depth()) << "still being read";
  rings_.rx_release();
  EXPECT_EQ(ring(false).head, rings_.depth() + 2);
}

TEST_F(MemifRingsTest, LyingLengthStaysInTheBuffer) {
  serve(1, 0xFFFFFFFF);
  EXPECT_EQ(rings_.rx_next(frame_), MemifRings::Rx::unusable);
  serve(2, 60);
  EXPECT_EQ(rings_.rx_next(frame_), MemifRings::Rx::frame);
}

TEST_F(MemifRingsTest, MovedBufferIsNotFollowed) {
  descriptor(false, 0).offset = 0xFFFFFF00;
  descriptor(false, 0).region = 9;
  descriptor(false, 0).length = 60;
  ++ring(false).tail;
  ASSERT_EQ(rings_.rx_next(frame_), MemifRings::Rx::frame);
  EXPECT_EQ(frame_[0], std::byte{0});
}

TEST_F(MemifRingsTest, FrameOfSeveralBuffersIsSkippedWhole) {
  serve(1, MemifRings::kBufferBytes, memif::kDescriptorNext);
  serve(2, 100);
  serve(3, 100);
  EXPECT_EQ(rings_.rx_next(frame_), MemifRings::Rx::unusable);
  EXPECT_EQ(rings_.rx_next(frame_), MemifRings::Rx::unusable);
  ASSERT_EQ(rings_.rx_next(frame_), MemifRings::Rx::frame);
  EXPECT_EQ(frame_[0], std::byte{3});
}

TEST_F(MemifRingsTest, MoreFramesThanBuffersBreaksTheConnection) {
  ring(false).tail = static_cast<std::uint16_t>(rings_.depth() + 1);
  EXPECT_EQ(rings_.rx_next(frame_), MemifRings::Rx::none);
  EXPECT_TRUE(rings_.broken());
}

TEST_F(MemifRingsTest, TailBeyondHeadLeavesNoRoom) {
  ring(true).tail = 1;  // read a frame that was never written
  EXPECT_EQ(rings_.tx_room(), 0u);
}

TEST_F(MemifRingsTest, SentFrameIsDescribedAndPublishedByFlush) {
  std::memset(rings_.tx_frame().data(), 5, 77);
  rings_.tx_commit(77);
  EXPECT_EQ(ring(true).head, 0u);
  rings_.tx_flush();
  EXPECT_EQ(ring(true).head, 1u);
  const memif::Descriptor& d = descriptor(true, 0);
  EXPECT_EQ(d.length, 77u);
  EXPECT_EQ(memory_[d.offset + 76], std::byte{5});
}

TEST_F(MemifRingsTest, FramesToComeCanBeLookedUp) {
  const std::byte* const third = rings_.tx_frame(2).data();
  rings_.tx_commit(1);
  rings_.tx_commit(1);
  EXPECT_EQ(rings_.tx_frame().data(), third);
}

TEST_F(MemifRingsTest, GreaterDepthTakesOtherBuffers) {
  rings_.tx_commit(1);
  rings_.tx_flush();
  const std::uint32_t in_flight = descriptor(true, 0).offset;
  rings_.set_depth(1000);
  EXPECT_EQ(rings_.depth(), 1024u);
  EXPECT_EQ(ring(false).head, 1024u);
  for (std::size_t i = 0; i < 1023; ++i) {
    ASSERT_GT(rings_.tx_room(), 0u);
    rings_.tx_commit(1);
    EXPECT_NE(descriptor(true, i + 1).offset, in_flight);
  }
  EXPECT_EQ(rings_.tx_room(), 0u);
  rings_.set_depth(10);
  EXPECT_EQ(rings_.depth(), 1024u) << "never shrinks";
  rings_.set_depth(1'000'000);
  EXPECT_EQ(rings_.depth(), MemifRings::kSize);
}

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

TEST_F(MemifRingsTest, PollingServerIsNotDisturbed) {
  rings_.tx_commit(60);
  ring(true).flags = memif::kRingNoInterrupts;
  rings_.tx_flush();
  EXPECT_FALSE(readable(rings_.event_fd(true)));
  ring(true).flags = 0;
  rings_.tx_flush();
  EXPECT_TRUE(readable(rings_.event_fd(true)));
}

TEST_F(MemifRingsTest, InterruptsAreAskedForOnlyWhileAsleep) {
  EXPECT_EQ(ring(false).flags, memif::kRingNoInterrupts);
  rings_.rx_interrupts(true);
  EXPECT_EQ(ring(false).flags, 0u);
  rings_.rx_interrupts(false);
  EXPECT_EQ(ring(false).flags, memif::kRingNoInterrupts);
}

}  // namespace
}  // namespace tributary::worker
