// The ops in which a child takes no part in its switch's sums (T13, rule 14). Ops count up in an
// epoch and do not wrap, so two numbers say it all.
#pragma once

#include <cstdint>

namespace tributary {

struct Exclusion {
  static constexpr std::uint32_t kOpen = 0xFFFFFFFF;  // nobody has said until when

  std::uint32_t from = 0;
  std::uint32_t until = 0;  // the first op in which it takes part again

  [[nodiscard]] bool covers(std::uint32_t op) const { return op >= from && op < until; }
  [[nodiscard]] bool open() const { return until == kOpen; }
  // There are none, and were none.
  [[nodiscard]] bool never() const { return until == 0; }
};

}  // namespace tributary
