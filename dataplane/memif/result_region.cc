#include "dataplane/memif/result_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;

// Linux 5.1: ranks that get the file can map it for reading only. Not in every libc's headers.
constexpr int kSealFutureWrite = 0x0010;

// Counts the regions of this process.
std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last = 0;
  return ++last;
}

std::uint32_t slot_bytes(std::size_t packet_bytes) {
  constexpr std::size_t kLine = 64;
  return static_cast<std::uint32_t>((memif::kResultPacketAt + packet_bytes + kLine - 1) / kLine *
                                    kLine);
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

void ResultRegion::Unmap::operator()(std::byte* at) const {
  ::munmap(at, bytes);
}

ResultRegion::ResultRegion(std::size_t packet_bytes, std::uint32_t slots)
    : share_{next_number(), slot_bytes(packet_bytes), slots},
      memory_(::memfd_create("results", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const std::size_t bytes = std::size_t{share_.slots} * share_.slot_bytes;
  if (!memory_ || ::ftruncate(memory_.get(), static_cast<off_t>(bytes)) != 0)
    fail("memory for results");
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (at == MAP_FAILED) fail("memory for results");
  mapped_ = {static_cast<std::byte*>(at), Unmap{bytes}};
  if (::fcntl(memory_.get(), F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | kSealFutureWrite | F_SEAL_SEAL) != 0)
    fail("sealing of the memory for results");
}

std::byte* ResultRegion::slot() const {
  return mapped_.get() + written_ % share_.slots * share_.slot_bytes;
}

std::span<std::byte> ResultRegion::open() {
  std::byte* const at = slot();
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  return {at + memif::kResultPacketAt, share_.slot_bytes - memif::kResultPacketAt};
}

memif::ResultReference ResultRegion::publish(std::size_t packet_bytes) {
  std::byte* const at = slot();
  const auto number = static_cast<std::uint32_t>(written_ % share_.slots);
  ++written_;
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(written_, std::memory_order_release);
  return {share_.region, number, written_, static_cast<std::uint32_t>(packet_bytes)};
}

}  // namespace tributary::dataplane
