#include "worker/transport/memif_rings.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace tributary::worker {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string("memif transport: ") + what);
}

FileDescriptor shared_memory(std::size_t bytes) {
  FileDescriptor fd(::memfd_create("tributary-memif", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) fail("no shared memory");
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) fail("cannot size shared memory");
  // The server requires this seal: memory that shrinks under it would kill it.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) fail("cannot seal shared memory");
  return fd;
}

FileDescriptor event() {
  FileDescriptor fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd) fail("no eventfd");
  return fd;
}

using Index = std::atomic_ref<std::uint16_t>;
constexpr std::uint16_t distance(std::uint16_t from, std::uint16_t to) {
  return static_cast<std::uint16_t>(to - from);
}

}  // namespace

void MemifRings::Unmap::operator()(std::byte* at) const {
  ::munmap(at, kMemoryBytes);
}

MemifRings::MemifRings()
    : memory_fd_(shared_memory(kMemoryBytes)),
      tx_event_(event()),
      rx_event_(event()),
      rx_offsets_(kSize) {
  void* const at =
      ::mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_.get(), 0);
  if (at == MAP_FAILED) fail("cannot map shared memory");
  memory_.reset(static_cast<std::byte*>(at));
  for (const bool to_server : {true, false}) {
    auto* const header = new (memory_.get() + ring_offset(to_server)) memif::RingHeader{};
    header->cookie = memif::kRingCookie;
    header->flags = memif::kRingNoInterrupts;
  }
}

memif::RingHeader& MemifRings::ring(bool to_server) const {
  return *reinterpret_cast<memif::RingHeader*>(memory_.get() + ring_offset(to_server));
}

memif::Descriptor& MemifRings::descriptor(bool to_server, std::uint16_t index) const {
  auto* const first = reinterpret_cast<memif::Descriptor*>(memory_.get() + ring_offset(to_server) +
                                                           sizeof(memif::RingHeader));
  return first[index % kSize];
}

std::uint32_t MemifRings::buffer_offset(bool to_server, std::uint16_t index) const {
  const std::size_t number = depth_ + index % depth_ + (to_server ? 0 : kBuffersPerRing);
  return static_cast<std::uint32_t>(2 * kRingBytes + number * kBufferBytes);
}

void MemifRings::start() {
  rx_release();
}

void MemifRings::set_depth(std::size_t frames) {
  depth_ = std::max(depth_, std::bit_ceil(std::min(frames, kSize)));
  rx_release();
}

std::size_t MemifRings::tx_room() const {
  const std::uint16_t in_flight =
      distance(Index(ring(true).tail).load(std::memory_order_acquire), tx_head_);
  return in_flight < depth_ ? depth_ - in_flight : 0;
}

std::span<std::byte> MemifRings::tx_frame(std::uint16_t ahead) const {
  const auto index = static_cast<std::uint16_t>(tx_head_ + ahead);
  return {memory_.get() + buffer_offset(true, index) + kTxFrameAt, kMostTxBytes};
}

void MemifRings::tx_commit(std::size_t frame_bytes) {
  const auto at = static_cast<std::uint32_t>(buffer_offset(true, tx_head_) + kTxFrameAt);
  descriptor(true, tx_head_) = {0, 0, static_cast<std::uint32_t>(frame_bytes), at, 0};
  ++tx_head_;
}

void MemifRings::tx_flush() {
  Index(ring(true).head).store(tx_head_, std::memory_order_release);
  // Pairs with a server that turns interrupts on and then reads head again.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if ((Index(ring(true).flags).load(std::memory_order_relaxed) & memif::kRingNoInterrupts) != 0)
    return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(tx_event_.get(), &one, sizeof one);
}

bool MemifRings::rx_pending() const {
  return Index(ring(false).tail).load(std::memory_order_acquire) !=
         rx_next_.load(std::memory_order_relaxed);
}

MemifRings::Rx MemifRings::rx_next(std::span<const std::byte>& frame) {
  const std::uint16_t tail = Index(ring(false).tail).load(std::memory_order_acquire);
  const std::uint16_t next = rx_next_.load(std::memory_order_relaxed);
  if (distance(next, tail) > distance(next, rx_head_)) broken_ = true;
  if (broken_ || tail == next) return Rx::none;
  const memif::Descriptor d = descriptor(false, next);
  frame = {memory_.get() + rx_offsets_[next % kSize],
           std::min<std::size_t>(d.length, kBufferBytes)};
  rx_next_.store(static_cast<std::uint16_t>(next + 1), std::memory_order_relaxed);
  const bool was_in_chain = std::exchange(rx_in_chain_, (d.flags & memif::kDescriptorNext) != 0);
  return was_in_chain || rx_in_chain_ || d.length > kBufferBytes ? Rx::unusable : Rx::frame;
}

void MemifRings::rx_release() {
  const std::uint16_t next = rx_next_.load(std::memory_order_relaxed);
  while (distance(next, rx_head_) < depth_) {
    const std::uint32_t offset = buffer_offset(false, rx_head_);
    rx_offsets_[rx_head_ % kSize] = offset;
    descriptor(false, rx_head_) = {0, 0, static_cast<std::uint32_t>(kBufferBytes), offset, 0};
    ++rx_head_;
  }
  Index(ring(false).head).store(rx_head_, std::memory_order_release);
}

void MemifRings::rx_interrupts(bool on) {
  const std::uint16_t flags = on ? 0 : memif::kRingNoInterrupts;
  Index(ring(false).flags).store(flags, std::memory_order_relaxed);
  // Before the caller reads tail again; pairs with the server, which writes tail, then reads
  // this.
  if (on) std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace tributary::worker
