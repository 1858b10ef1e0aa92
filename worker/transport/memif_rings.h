// One memif connection's shared memory as a client sees it: a ring of frames to the server, a ring
// of frames from it, and their buffers.
//
//   memfd:  [ring →][ring ←][buffers →][buffers ←]
//
// Frames are built and read in place. Of all buffers only `depth` per direction are in use, always
// the same ones, so that they stay in cache; the rest of the memory is never touched and costs
// nothing. Buffers of depth d are number d to 2d−1, so a greater depth can follow at once.
//
// The server is another process: all that it writes (indices, lengths, flags) is read once, checked
// against what was offered to it, and never used to compute an address.
//
// One thread at a time sends, one receives; the two may differ. rx_pending() and rx_interrupts()
// are any thread's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_format.h"

namespace tributary::worker {

class MemifRings {
 public:
  static constexpr std::uint8_t kLog2Size = 12;
  static constexpr std::size_t kSize = std::size_t{1} << kLog2Size;
  // The largest frame: 9,728 is what memif users agree on for jumbo frames.
  static constexpr std::size_t kBufferBytes = 9728;
  // Frames to the server begin here in their buffers: a contribution's elements then begin on a
  // cache line, and the server, which sums them where they lie, reads each line once.
  static constexpr std::size_t kTxFrameAt = 32;
  static constexpr std::size_t kMostTxBytes = kBufferBytes - kTxFrameAt;

  // Allocates the memory, all zero. Throws std::system_error.
  MemifRings();

  // The description of the memory for the server. `to_server` selects the direction.
  [[nodiscard]] int memory_fd() const { return memory_fd_.get(); }
  [[nodiscard]] std::size_t memory_bytes() const { return kMemoryBytes; }
  [[nodiscard]] static std::uint32_t ring_offset(bool to_server) {
    return to_server ? 0 : kRingBytes;
  }
  [[nodiscard]] int event_fd(bool to_server) const {
    return to_server ? tx_event_.get() : rx_event_.get();
  }

  // The server has accepted the connection (which zeroed the indices): offers empty buffers.
  void start();
  // Lets this many frames be in flight per direction; rounded up to a power of two, only grows.
  // While no other thread sends or receives.
  void set_depth(std::size_t frames);
  [[nodiscard]] std::size_t depth() const { return depth_; }

  // Sending: while tx_room() > 0, fill tx_frame(), tx_commit() its length; tx_flush() at the end.
  [[nodiscard]] std::size_t tx_room() const;
  // A frame `ahead` commits later, so that its memory can be prefetched.
  [[nodiscard]] std::span<std::byte> tx_frame(std::uint16_t ahead = 0) const;
  void tx_commit(std::size_t frame_bytes);
  void tx_flush();

  // Receiving: rx_next() until it returns none; frames stay valid until rx_release().
  enum class Rx : std::uint8_t { none, frame, unusable };  // unusable: longer than a buffer
  [[nodiscard]] bool rx_pending() const;
  Rx rx_next(std::span<const std::byte>& frame);
  void rx_release();
  // On: the server writes event_fd(false) after each burst. A burst that is being written at this
  // moment may not be signalled: look again shortly after.
  void rx_interrupts(bool on);

  // True if the server broke the protocol; the connection must not be used any more.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  static constexpr std::size_t kRingBytes =
      sizeof(memif::RingHeader) + kSize * sizeof(memif::Descriptor);
  static constexpr std::size_t kBuffersPerRing = 2 * kSize;
  static constexpr std::size_t kMemoryBytes = 2 * kRingBytes + 2 * kBuffersPerRing * kBufferBytes;
  static_assert(kMemoryBytes < UINT32_MAX && kRingBytes % 64 == 0 && kBufferBytes % 64 == 0);

  struct Unmap {
    void operator()(std::byte* at) const;
  };

  [[nodiscard]] memif::RingHeader& ring(bool to_server) const;
  [[nodiscard]] memif::Descriptor& descriptor(bool to_server, std::uint16_t index) const;
  [[nodiscard]] std::uint32_t buffer_offset(bool to_server, std::uint16_t index) const;

  FileDescriptor memory_fd_, tx_event_, rx_event_;
  std::unique_ptr<std::byte, Unmap> memory_;
  std::size_t depth_ = 128;
  std::uint16_t tx_head_ = 0;               // next frame to write
  std::uint16_t rx_head_ = 0;               // buffers offered up to here
  std::atomic<std::uint16_t> rx_next_ = 0;  // next frame to read; the receiver writes
  std::vector<std::uint32_t> rx_offsets_;   // by descriptor: where its buffer is
  bool rx_in_chain_ = false;                // the last frame continues in the next descriptor
  bool broken_ = false;
};

}  // namespace tributary::worker
