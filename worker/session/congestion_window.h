// The most chunks of a shard that a rank has in flight (protocol rule 15): the whole window W, or
// fewer while results carry congestion marks.
//
//   result of seq      · · · ✕ · · ✕ · · · · · · · ·      ✕: with the flag CE
//   limit after it     W     W/2 ─────────▶ + W/16, each time as many results as the limit is
//                            │                              have come without a mark, up to W
//                            └ marks on chunks in flight at that time belong to this decrease,
//                              and cause no other one
//
// Every rank gets the same result of a seq, and follows results in the order of seqs, whatever
// order they arrived in. So the limit after a seq is equal on all ranks, and no rank waits for one
// with another limit: all ranks slow down together. The limit never falls below what keeps chunks
// moving, so it can delay chunks but not stop them.
//
// Pure; the session's thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tributary::worker {

class CongestionWindow {
 public:
  // With two in flight, the later one's result still shows the loss of the earlier one.
  static constexpr std::uint32_t kLeast = 2;
  static constexpr std::uint32_t kSteps = 16;  // from 0 to W

  explicit CongestionWindow(std::uint32_t window = 1) : window_(window), limit_(window) {}

  [[nodiscard]] std::uint32_t limit() const { return limit_; }
  // True if no mark is pending and none has an effect any more: results need not be followed.
  [[nodiscard]] bool at_rest() const { return at_rest_; }

  // A result with a mark has arrived, whether or not all before it have.
  void expect_mark() {
    ++expected_;
    at_rest_ = false;
  }
  // All results before `seq` have been followed, or arrived while at rest. Returns true if the
  // limit is lower from now on.
  bool follow(std::uint32_t seq, bool marked) {
    const std::uint32_t before = limit_;
    if (counted_ && seq == counted_until_) counted_ = false;
    if (marked) {
      --expected_;
      unmarked_ = 0;
      if (!counted_) decrease(seq);
    } else if (++unmarked_ >= limit_) {
      unmarked_ = 0;
      limit_ = std::min(limit_ + std::max(window_ / kSteps, 1u), window_);
    }
    at_rest_ = expected_ == 0 && !counted_ && limit_ == window_;
    return limit_ < before;
  }

 private:
  // Chunks in flight when this result arrived were sent under the former limit.
  void decrease(std::uint32_t seq) {
    counted_ = true;
    counted_until_ = seq + 1 + limit_;
    limit_ = std::max(limit_ / 2, std::min(kLeast, window_));
  }

  std::uint32_t window_;
  std::uint32_t limit_;
  std::uint32_t expected_ = 0;       // marked results not followed yet
  std::uint32_t unmarked_ = 0;       // consecutive results since the limit changed
  std::uint32_t counted_until_ = 0;  // a decrease already covers marks of earlier seqs
  bool counted_ = false;
  bool at_rest_ = true;
};

}  // namespace tributary::worker
