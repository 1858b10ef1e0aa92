// Times from nanoseconds to minutes in bounded memory, each with an error of at most 1/32.
//
// Buckets are linear within a power of two (HdrHistogram's idea, http://hdrhistogram.org): 32 of
// width 1 below 32 ns, then 32 of them for each doubling. The largest value is kept exactly.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/time.h"

namespace tributary::loadgen {

class Histogram {
 public:
  void add(Duration time) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.to_ns(), 0));
    ++buckets_[index_of(ns)];
    ++count_;
    largest_ns_ = std::max(largest_ns_, ns);
  }
  void add(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    largest_ns_ = std::max(largest_ns_, other.largest_ns_);
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Duration max() const {
    return Duration::ns(static_cast<std::int64_t>(largest_ns_));
  }
  // The least bucket end that `share` (0 to 1) of the values do not exceed; 0 where there are none.
  [[nodiscard]] Duration percentile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (seen >= wanted && seen > 0)
        return std::min(Duration::ns(static_cast<std::int64_t>(end_of(i))), max());
    }
    return Duration();
  }

 private:
  static constexpr unsigned kLinearBits = 5;
  static constexpr std::size_t kLinear = std::size_t{1} << kLinearBits;
  static constexpr unsigned kMostBits = 40;  // 18 minutes; what is longer counts as that
  static constexpr std::size_t kBuckets = kLinear * (kMostBits - kLinearBits + 1);

  static std::size_t index_of(std::uint64_t ns) {
    ns = std::min(ns, (std::uint64_t{1} << kMostBits) - 1);
    if (ns < kLinear) return ns;
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - kLinearBits - 1;
    return (std::size_t{shift} << kLinearBits) + (ns >> shift);
  }
  // The largest value of a bucket.
  static std::uint64_t end_of(std::size_t i) {
    if (i < 2 * kLinear) return i;
    const std::size_t shift = (i >> kLinearBits) - 1;
    return ((i - (shift << kLinearBits) + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t largest_ns_ = 0;
};

}  // namespace tributary::loadgen
