// The replacement policy of a cache of named data: ARC (Megiddo and Modha, "ARC: A Self-Tuning,
// Low Overhead Replacement Cache", FAST 2003), over entries that all take one slot.
//
//   recent    seen once lately          ┐ together at most `capacity`: these have data
//   frequent  seen again                ┘
//   was_recent, was_frequent            evicted from there; only remembered
//
// A miss in `was_recent` says that `recent` should be larger, one in `was_frequent` the contrary.
// A scan passes through `recent` and leaves `frequent` alone.
//
// Pure state over numbers of entries; all memory is taken at construction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/index_list.h"

namespace tributary::aggregator {

class Arc {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // Entries are numbered below `entries`; `capacity` of them, at least one, have data.
  Arc(std::uint32_t entries, std::uint32_t capacity);

  [[nodiscard]] bool holds(std::uint32_t entry) const {
    return links_[entry].in == recent || links_[entry].in == frequent;
  }
  [[nodiscard]] bool remembers(std::uint32_t entry) const { return links_[entry].in != none; }
  [[nodiscard]] std::uint32_t held() const { return count_[recent] + count_[frequent]; }

  // The entry has data, and was asked for.
  void hit(std::uint32_t entry);
  // The entry gets data, which it has not now.
  struct Outcome {
    std::uint32_t evicted = kNone;    // has data no more
    std::uint32_t forgotten = kNone;  // is in no list any more; maybe the same
  };
  Outcome insert(std::uint32_t entry);
  void erase(std::uint32_t entry);

 private:
  enum List : std::uint8_t { none, recent, frequent, was_recent, was_frequent };
  struct Link {
    std::uint32_t older = kNone;
    std::uint32_t newer = kNone;
    List in = none;
  };

  void move(std::uint32_t entry, List to);
  std::uint32_t make_room(bool for_frequent);
  std::uint32_t forget_oldest(List list);
  Outcome insert_new(std::uint32_t entry);

  std::uint32_t capacity_;
  std::uint32_t target_ = 0;  // wanted size of `recent`
  std::vector<Link> links_;
  std::array<IndexList<Link, &Link::older, &Link::newer>, 5> lists_;
  std::array<std::uint32_t, 5> count_{};
};

}  // namespace tributary::aggregator
