// Makes a failing scenario small: drops whatever it can still fail without.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/scenario/scenario.h"

namespace tributary::sim {

struct Shrunk {
  Scenario scenario;
  std::string failure;  // of the small scenario
  std::uint32_t runs = 0;
  std::uint64_t events = 0;  // in all of them
};

// Greedy and deterministic. `failing` fails. Goes on while it has run less often, and fewer events,
// than this.
struct ShrinkLimits {
  std::uint32_t runs = 600;
  std::uint64_t events = 400'000'000;  // minutes
};
Shrunk shrink(const Scenario& failing, const ShrinkLimits& limits = {});

}  // namespace tributary::sim
