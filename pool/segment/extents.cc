#include "pool/segment/extents.h"

#include <iterator>

namespace tributary::pool {

void Extents::insert(const Extent& extent) {
  by_offset_.emplace(extent.offset, extent.bytes);
  by_size_.emplace(extent.bytes, extent.offset);
  free_bytes_ += extent.bytes;
}

void Extents::erase(std::map<std::uint64_t, std::uint64_t>::iterator at) {
  by_size_.erase({at->second, at->first});
  free_bytes_ -= at->second;
  by_offset_.erase(at);
}

void Extents::release(Extent extent) {
  if (extent.bytes == 0) return;
  const auto after = by_offset_.lower_bound(extent.offset);
  if (after != by_offset_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == extent.offset) {
      extent = {before->first, before->second + extent.bytes};
      erase(before);
    }
  }
  if (after != by_offset_.end() && extent.offset + extent.bytes == after->first) {
    extent.bytes += after->second;
    erase(after);
  }
  insert(extent);
}

std::optional<std::uint64_t> Extents::take(std::uint64_t bytes) {
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [size, offset] = *found;
  erase(by_offset_.find(offset));
  if (size > bytes) insert({offset + bytes, size - bytes});
  return offset;
}

}  // namespace tributary::pool
