// A histogram whose buckets grow with the values, for times that spread over many orders of
// magnitude.
//
// Each doubling of the values is cut into 2^kSubBits buckets of equal width, as in HdrHistogram
// (http://hdrhistogram.org); so is the range below 2^kFirstBit. With kSubBits 0, the default,
// bucket b counts values below 2^(kFirstBit + b) that are in no earlier bucket. The last bucket
// also counts all larger values. A percentile is too large by a factor of at most 1 +
// 2^-kSubBits.
//
// The counters are a Counter each: one writer, any reader, no lock. A reader that looks while the
// writer adds sees some of the latest values, or none. The unit of the values (ns, cycles), their
// sum and the largest belong to the owner, which often counts them anyway.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/counter.h"

namespace tributary {

template <unsigned kFirstBit, std::size_t kCount, unsigned kSubBits = 0>
class LogHistogram {
  static_assert(kCount >= 2 && kFirstBit >= kSubBits);
  static_assert(kFirstBit + (kCount >> kSubBits) <= 64, "a bound must be a number of 64 bits");

 public:
  static constexpr std::size_t kBuckets = kCount;

  // The bucket's values are below this bound; the last bucket holds any larger value, too.
  static constexpr std::uint64_t bound(std::size_t bucket) {
    const std::size_t doubling = bucket >> kSubBits;
    const std::uint64_t sub = (bucket & (kSubs - 1)) + 1;
    if (doubling == 0) return sub << (kFirstBit - kSubBits);
    return (kSubs + sub) << (kFirstBit - kSubBits + doubling - 1);
  }
  void add(std::uint64_t value) { buckets_[bucket_of(value)].add(); }
  void include(const LogHistogram& other) {
    for (std::size_t b = 0; b < kBuckets; ++b) buckets_[b].add(other.in(b));
  }
  [[nodiscard]] std::uint64_t in(std::size_t bucket) const { return buckets_[bucket].get(); }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const Counter& bucket : buckets_) all += bucket.get();
    return all;
  }
  // The first bucket up to which at least `part` of `of` parts of the values lie; the last bucket
  // if there is no earlier one. count() must not be 0.
  [[nodiscard]] std::size_t quantile(std::uint64_t part, std::uint64_t of) const {
    const std::uint64_t wanted = (count() * part + of - 1) / of;
    std::uint64_t below = 0;
    for (std::size_t b = 0; b + 1 < kBuckets; ++b) {
      below += in(b);
      if (below >= wanted && below != 0) return b;
    }
    return kBuckets - 1;
  }
  // A value that this share of the values does not exceed: a bucket's bound, or `most`, which is
  // the largest value. 0 if there are no values.
  [[nodiscard]] std::uint64_t percentile(std::uint64_t percent, std::uint64_t most) const {
    if (count() == 0) return 0;
    const std::size_t bucket = quantile(percent, 100);
    return bucket == kBuckets - 1 ? most : std::min(bound(bucket), most);
  }

 private:
  static constexpr std::uint64_t kSubs = std::uint64_t{1} << kSubBits;

  static constexpr std::size_t bucket_of(std::uint64_t value) {
    const auto doubling = static_cast<std::size_t>(std::bit_width(value >> kFirstBit));
    if constexpr (kSubBits == 0) {
      return std::min(doubling, kBuckets - 1);
    } else {
      const std::size_t shift = kFirstBit - kSubBits + (doubling == 0 ? 0 : doubling - 1);
      const std::uint64_t sub = (value >> shift) - (doubling == 0 ? 0 : kSubs);
      return std::min((doubling << kSubBits) + static_cast<std::size_t>(sub), kBuckets - 1);
    }
  }

  std::array<Counter, kBuckets> buckets_;
};

}  // namespace tributary
