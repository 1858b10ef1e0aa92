// Which children were late in the last K ops of a job at one switch, and which of them are
// therefore to be excluded or taken back (T12, T13).
//
//   lateness of each child, op by op ──combine over K──▶ the N largest, or all above a threshold
//                                                             │ excluded
//              taken back ◀──below a lower limit, so many ops in a row
//
// At least one child is always waited for, and no child is excluded whose lateness would have it
// taken back at once. Pure: no clock, no I/O, no threads. One thread at a time calls it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model/straggler_policy.h"
#include "core/time.h"

namespace tributary::control {

// Indices of the n largest, largest first; of equal ones the first.
std::vector<std::uint32_t> largest(std::span<const Duration> lateness, std::size_t n);
// Indices of all strictly above the limit, largest first.
std::vector<std::uint32_t> above(std::span<const Duration> lateness, Duration limit);

class StragglerHistory {
 public:
  // Throws std::invalid_argument for a policy that makes no sense, and says why.
  StragglerHistory(const config::StragglerPolicy& policy, std::uint32_t children);

  struct Changes {
    std::vector<std::uint32_t> exclude;
    std::vector<std::uint32_t> take_back;
    bool operator==(const Changes&) const = default;
  };
  // An op is over: by how much each child lagged behind in it. Excluded ones have figures, too.
  Changes add(std::span<const Duration> lateness);
  // It could not be done, or was done by hand.
  void set_excluded(std::uint32_t child, bool excluded);
  // Another epoch: every child takes part, and no lateness is known.
  void reset();

  // Over the last K ops, by child; zeros before there are as many.
  [[nodiscard]] std::vector<Duration> combined() const;
  [[nodiscard]] bool excluded(std::uint32_t child) const { return children_[child].excluded; }

 private:
  struct Child {
    bool excluded = false;
    std::uint32_t well_for = 0;  // ops in a row
  };

  [[nodiscard]] std::vector<std::uint32_t> candidates() const;

  config::StragglerPolicy policy_;
  std::vector<Child> children_;
  std::vector<Duration> ring_;  // op by op, child by child
  std::uint64_t ops_ = 0;
};

}  // namespace tributary::control
