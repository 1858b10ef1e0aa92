#include "worker/agreement/agreed_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>

namespace tributary::worker {
namespace {

// Arrays of several allocations share no cache line, however small the blocks are.
constexpr std::uint64_t kLeastBlock = 64;

std::uintptr_t up(std::uintptr_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

void unmap(std::uintptr_t begin, std::uintptr_t end) {
  if (begin != end) ::munmap(reinterpret_cast<void*>(begin), end - begin);
}

// Maps `bytes` from an address on that is `low` modulo `period`.
std::shared_ptr<std::byte[]> map(std::size_t bytes, std::uint64_t low, std::uint64_t period) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  // Reserves more, without memory behind it, and gives back what is too much.
  const std::size_t room = up(bytes + period + page, page);
  void* const reserved =
      ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw std::bad_alloc();
  const auto from = reinterpret_cast<std::uintptr_t>(reserved);
  const std::uintptr_t at = from + (low + period - from % period) % period;
  const std::uintptr_t begin = at / page * page;
  const std::uintptr_t end = up(at + bytes, page);
  unmap(from, begin);
  unmap(end, from + room);
  if (::mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) {
    unmap(begin, end);
    throw std::bad_alloc();
  }
  return {reinterpret_cast<std::byte*>(at), [begin, end](std::byte*) { unmap(begin, end); }};
}

}  // namespace

std::shared_ptr<std::byte[]> AgreedMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t least = std::max<std::size_t>(bytes, 1);
  if (!bits_.choose()) return map(least, 0, kLeastBlock);
  auto memory = map(least, next_, bits_.period());
  const std::uint64_t block = std::max(std::uint64_t{1} << bits_.low, kLeastBlock);
  next_ = (next_ + up(least, block)) % bits_.period();
  return memory;
}

}  // namespace tributary::worker
