// Free space of a segment: best fit, neighbours merged. The caller must keep offsets and sizes
// multiples of kRecordAlignment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "pool/record/lease.h"

namespace tributary::pool {

class Extents {
 public:
  // No space is free at first.
  Extents() = default;

  void release(Extent extent);
  // Takes the start of the smallest extent that is large enough.
  std::optional<std::uint64_t> take(std::uint64_t bytes);

  [[nodiscard]] std::uint64_t free_bytes() const { return free_bytes_; }
  [[nodiscard]] std::uint64_t largest() const {
    return by_size_.empty() ? 0 : by_size_.rbegin()->first;
  }

 private:
  void insert(const Extent& extent);
  void erase(std::map<std::uint64_t, std::uint64_t>::iterator at);

  std::map<std::uint64_t, std::uint64_t> by_offset_;           // offset → bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // (bytes, offset)
  std::uint64_t free_bytes_ = 0;
};

}  // namespace tributary::pool
