// A histogram in powers of two, for times that spread over many orders of magnitude.
//
// Bucket b counts values below 2^(kFirstBit + b) that are in no earlier one; the last bucket counts
// all larger ones too. Its counters are a Counter each: one writer, any reader, no lock. A reader
// that looks while the writer adds sees some of the latest values, or none. What the values are
// (ns, cycles) is the owner's affair, as are their sum and the largest: often it counts them
// anyway.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/counter.h"

namespace tributary {

template <unsigned kFirstBit, std::size_t kCount>
class LogHistogram {
  static_assert(kCount >= 2 && kFirstBit + kCount <= 64, "a bound must be a number of 64 bits");

 public:
  static constexpr std::size_t kBuckets = kCount;

  // Values of the bucket are below it; of the last one, anything.
  static constexpr std::uint64_t bound(std::size_t bucket) {
    return std::uint64_t{1} << (kFirstBit + bucket);
  }
  void add(std::uint64_t value) {
    const auto bits = static_cast<std::size_t>(std::bit_width(value >> kFirstBit));
    buckets_[std::min(bits, kBuckets - 1)].add();
  }
  void include(const LogHistogram& other) {
    for (std::size_t b = 0; b < kBuckets; ++b) buckets_[b].add(other.in(b));
  }
  [[nodiscard]] std::uint64_t in(std::size_t bucket) const { return buckets_[bucket].get(); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const Counter& bucket : buckets_) all += bucket.get();
    return all;
  }
  // Not above it is this share of the values: the bound of a bucket or `most`, which is the largest
  // value. 0 of none.
  [[nodiscard]] std::uint64_t percentile(std::uint64_t percent, std::uint64_t most) const {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const std::uint64_t wanted = (all * percent + 99) / 100;
    std::uint64_t below = 0;
    for (std::size_t b = 0; b + 1 < kBuckets; ++b) {
      below += in(b);
      if (below >= wanted) return std::min(bound(b), most);
    }
    return most;
  }

 private:
  std::array<Counter, kBuckets> buckets_;
};

}  // namespace tributary
