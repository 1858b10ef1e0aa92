// Memory for data that packets access at random, on huge pages where the kernel has some to give
// (transparent_hugepage: madvise or always): fewer TLB misses, and hardware prefetching does not
// stop every 4 KiB. Ordinary pages otherwise; the operator has nothing to reserve. All pages are
// there before the first write.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::dataplane {

class PageMemory {
 public:
  // All zero, on a page of its own. Throws std::bad_alloc.
  explicit PageMemory(std::size_t bytes);
  ~PageMemory();
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> mapped_;  // begins up to a huge page before what is used
  std::span<std::byte> bytes_;
};

}  // namespace tributary::dataplane
