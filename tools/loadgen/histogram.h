// Times from nanoseconds to minutes in bounded memory, each with an error of at most 1/32. The
// largest value is kept exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/log_histogram.h"
#include "core/time.h"

namespace tributary::loadgen {

class Histogram {
 public:
  void add(Duration time) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.to_ns(), 0));
    buckets_.add(ns);
    ++count_;
    largest_ns_ = std::max(largest_ns_, ns);
  }
  void add(const Histogram& other) {
    buckets_.include(other.buckets_);
    count_ += other.count_;
    largest_ns_ = std::max(largest_ns_, other.largest_ns_);
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Duration max() const {
    return Duration::ns(static_cast<std::int64_t>(largest_ns_));
  }
  // The least bucket end that `share` (0 to 1) of the values do not exceed; 0 where there are none.
  [[nodiscard]] Duration percentile(double share) const {
    constexpr std::uint64_t kParts = 1'000'000;
    if (count_ == 0) return Duration();
    const auto part = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(kParts)));
    const std::size_t bucket = buckets_.quantile(part, kParts);
    if (bucket + 1 == Buckets::kBuckets) return max();
    return std::min(Duration::ns(static_cast<std::int64_t>(Buckets::bound(bucket) - 1)), max());
  }

 private:
  static constexpr unsigned kSubBits = 5;
  static constexpr std::size_t kDoublings = 36;  // up to 18 minutes; longer times count as that
  using Buckets = LogHistogram<kSubBits, (std::size_t{kDoublings} << kSubBits) + 1, kSubBits>;

  Buckets buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t largest_ns_ = 0;
};

}  // namespace tributary::loadgen
