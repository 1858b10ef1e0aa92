// The ops in which a child takes no part in its switch's sums (T13, rule 14). Op numbers do not
// wrap (op_number.h), so two of them describe the range.
#pragma once

#include <cstdint>

#include "core/op_number.h"

namespace tributary {

struct Exclusion {
  static constexpr std::uint32_t kOpen = kNoOp;  // the end is not known yet

  std::uint32_t from = 0;
  std::uint32_t until = 0;  // the first op in which it takes part again

  [[nodiscard]] bool covers(std::uint32_t op) const { return op >= from && op < until; }
  [[nodiscard]] bool open() const { return until == kOpen; }
  // True if the child is not, and never was, excluded.
  [[nodiscard]] bool never() const { return until == 0; }
};

}  // namespace tributary
