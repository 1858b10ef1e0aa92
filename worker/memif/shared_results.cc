#include "worker/memif/shared_results.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <utility>

namespace tributary::worker {
namespace {

constexpr std::size_t kAlignment = 64;

bool is_sealed_file_of(int memory, std::uint64_t bytes) {
  struct stat about {};
  if (::fstat(memory, &about) != 0 || !S_ISREG(about.st_mode)) return false;
  const int seals = ::fcntl(memory, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 &&
         static_cast<std::uint64_t>(about.st_size) == bytes;
}

}  // namespace

void SharedResults::Unmap::operator()(const std::byte* at) const {
  ::munmap(const_cast<std::byte*>(at), bytes);
}

std::shared_ptr<const SharedResults> SharedResults::map(const memif::Share& share, int memory) {
  const std::uint64_t bytes = std::uint64_t{share.slots} * share.slot_bytes;
  if (bytes == 0 || share.slot_bytes % kAlignment != 0 ||
      share.slot_bytes <= memif::kResultElementsAt || !is_sealed_file_of(memory, bytes))
    return nullptr;
  void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, memory, 0);
  if (at == MAP_FAILED) return nullptr;
  return std::shared_ptr<const SharedResults>(new SharedResults(
      share, std::unique_ptr<const std::byte, Unmap>(static_cast<std::byte*>(at), Unmap{bytes})));
}

std::optional<std::span<const std::byte>> SharedResults::read(const memif::ResultReference& at,
                                                              std::vector<std::byte>& room) const {
  if (at.slot >= slots_ || at.tag == 0 || at.packet_bytes > slot_bytes_ - memif::kResultPacketAt)
    return std::nullopt;
  const std::byte* const slot = memory_.get() + std::size_t{at.slot} * slot_bytes_;
  // atomic_ref<const T> is C++26's.
  const std::atomic_ref tag(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(slot)));
  if (tag.load(std::memory_order_acquire) != at.tag) return std::nullopt;
  room.resize(slot_bytes_ + kAlignment);
  const std::size_t skip = -reinterpret_cast<std::uintptr_t>(room.data()) % kAlignment;
  const std::span to = std::span(room).subspan(skip + memif::kResultPacketAt, at.packet_bytes);
  std::memcpy(to.data(), slot + memif::kResultPacketAt, to.size());
  std::atomic_thread_fence(std::memory_order_acquire);
  if (tag.load(std::memory_order_relaxed) != at.tag) return std::nullopt;
  return to;
}

}  // namespace tributary::worker
