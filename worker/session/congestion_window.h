// How many chunks of a shard a rank has under way at most (protocol rule 15): all of the window W,
// or fewer while results say that data met queues.
//
//   result of seq      · · · ✕ · · ✕ · · · · · · · ·      ✕: with the flag CE
//   limit after it     W     W/2 ─────────▶ + W/16, each time as many results as the limit is
//                            │                              have come without a mark, up to W
//                            └ marks of what was under way then say nothing new: one decrease for
//                            it
//
// Every rank gets the same result of a seq, and follows them in the order of seqs, whatever order
// they came in. So the limit after a seq is the same on all of them, and no rank waits for one that
// believes in another: who slows down, slows down with everybody. It is never less than what keeps
// chunks moving, so it can delay but not stop them.
//
// Pure; the session's thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tributary::worker {

class CongestionWindow {
 public:
  // With two under way the later one's result still tells of the earlier one's loss.
  static constexpr std::uint32_t kLeast = 2;
  static constexpr std::uint32_t kSteps = 16;  // from 0 to W

  explicit CongestionWindow(std::uint32_t window = 1) : window_(window), limit_(window) {}

  [[nodiscard]] std::uint32_t limit() const { return limit_; }
  // Nothing is marked, nothing is left of an earlier mark: results need not be followed.
  [[nodiscard]] bool at_rest() const { return at_rest_; }

  // A result with a mark is here, whether or not all before it are.
  void expect_mark() {
    ++expected_;
    at_rest_ = false;
  }
  // All results before `seq` have been followed, or came while all was at rest. True: the limit is
  // less from now on.
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
  // What was under way when this result came had been sent by the limit before.
  void decrease(std::uint32_t seq) {
    counted_ = true;
    counted_until_ = seq + 1 + limit_;
    limit_ = std::max(limit_ / 2, std::min(kLeast, window_));
  }

  std::uint32_t window_;
  std::uint32_t limit_;
  std::uint32_t expected_ = 0;       // marked results that have not been followed
  std::uint32_t unmarked_ = 0;       // results in a row, since the limit changed
  std::uint32_t counted_until_ = 0;  // marks of earlier seqs have had their decrease
  bool counted_ = false;
  bool at_rest_ = true;
};

}  // namespace tributary::worker
