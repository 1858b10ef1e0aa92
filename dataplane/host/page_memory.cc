#include "dataplane/host/page_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "dataplane/host/prefault.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

PageMemory::PageMemory(std::size_t bytes) {
  if (bytes == 0) return;
  // Huge pages cover only whole multiples of their size; the rest is on small ones.
  const std::size_t slack = bytes < kHugePage ? 0 : kHugePage;
  void* const begin =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  mapped_ = {static_cast<std::byte*>(begin), bytes + slack};
  const std::size_t skip =
      slack == 0 ? 0 : kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  bytes_ = mapped_.subspan(skip % kHugePage, bytes);
  // A kernel without huge pages refuses, and small ones do.
  if (slack != 0) madvise(bytes_.data(), bytes, MADV_HUGEPAGE);
  if (prefault(bytes_)) return;
  munmap(mapped_.data(), mapped_.size());
  throw std::bad_alloc();
}

PageMemory::~PageMemory() {
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
}

}  // namespace tributary::dataplane
