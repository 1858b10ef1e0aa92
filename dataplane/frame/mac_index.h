// Entries by address and VLAN, found by hash: what the tables of addresses and of groups share.
//
// Bounded, all memory taken at construction. Entry has members `key` (of mac_key.h) and
// `hash_next`, which are the index's to write.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "dataplane/frame/mac_key.h"

namespace tributary::dataplane {

inline constexpr std::uint32_t kNoEntry = 0xFFFFFFFF;

template <typename Entry>
class MacIndex {
 public:
  // Capacity is a power of two. `seed` makes the hash unpredictable to senders.
  MacIndex(std::uint32_t capacity, std::uint64_t seed)
      : multiplier_(hash_multiplier(seed)),
        entries_(capacity),
        buckets_(std::max(capacity, 2U), kNoEntry),
        shift_(64U - static_cast<unsigned>(std::countr_zero(buckets_.size()))) {
    if (capacity == 0 || (capacity & (capacity - 1)) != 0)
      throw std::invalid_argument("a table's capacity must be a power of two");
    for (std::uint32_t i = capacity; i-- > 0;) release(i);
  }

  Entry& operator[](std::uint32_t index) { return entries_[index]; }
  const Entry& operator[](std::uint32_t index) const { return entries_[index]; }
  // All of them, those in use and those that are free.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] bool full() const { return free_ == kNoEntry; }

  // kNoEntry: it is not there.
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    std::uint32_t index = buckets_[bucket_of(key)];
    while (index != kNoEntry && entries_[index].key != key) index = entries_[index].hash_next;
    return index;
  }
  // An entry for a key that is not there; not when full. The rest of it is as it was left.
  std::uint32_t add(std::uint64_t key) {
    const std::uint32_t index = free_;
    free_ = entries_[index].hash_next;
    std::uint32_t& bucket = buckets_[bucket_of(key)];
    entries_[index].key = key;
    entries_[index].hash_next = bucket;
    bucket = index;
    return index;
  }
  void remove(std::uint32_t index) {
    std::uint32_t* link = &buckets_[bucket_of(entries_[index].key)];
    while (*link != index) link = &entries_[*link].hash_next;
    *link = entries_[index].hash_next;
    release(index);
  }

 private:
  [[nodiscard]] std::size_t bucket_of(std::uint64_t key) const {
    return hash_mac_key(key, multiplier_, shift_);
  }
  void release(std::uint32_t index) {
    entries_[index].hash_next = free_;
    free_ = index;
  }

  std::uint64_t multiplier_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> buckets_;  // two at least: a number may not be shifted by its width
  unsigned shift_;
  std::uint32_t free_ = kNoEntry;  // chained through hash_next
};

}  // namespace tributary::dataplane
