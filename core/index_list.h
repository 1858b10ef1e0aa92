// Doubly linked list of entries in an array, oldest first, linked by index through two members of
// the entry: append and remove are O(1), nothing is allocated.
//
// The list holds the two ends only. The array belongs to the caller, who passes it to each call and
// must not move entries that are linked. An entry is in at most one list per pair of members.
#pragma once

#include <cstdint>

namespace tributary {

template <typename Entry, std::uint32_t Entry::*Older, std::uint32_t Entry::*Newer>
class IndexList {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }
  [[nodiscard]] std::uint32_t newest() const { return newest_; }
  [[nodiscard]] bool empty() const { return oldest_ == kNone; }

  // `index` must be in no list.
  template <typename Entries>
  void append(Entries&& entries, std::uint32_t index) {
    entries[index].*Older = newest_;
    entries[index].*Newer = kNone;
    (newest_ == kNone ? oldest_ : entries[newest_].*Newer) = index;
    newest_ = index;
  }
  // `index` must be in this list.
  template <typename Entries>
  void remove(Entries&& entries, std::uint32_t index) {
    const Entry& entry = entries[index];
    (entry.*Older == kNone ? oldest_ : entries[entry.*Older].*Newer) = entry.*Newer;
    (entry.*Newer == kNone ? newest_ : entries[entry.*Newer].*Older) = entry.*Older;
  }

 private:
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
};

}  // namespace tributary
