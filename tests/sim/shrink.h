// Makes a failing scenario small: drops whatever it can still fail without.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/sim/scenario.h"

namespace tributary::sim {

struct Shrunk {
  Scenario scenario;
  std::string failure;  // of the small scenario
  std::uint32_t runs = 0;
};

// Greedy, deterministic, at most `most_runs` simulations. `failing` fails.
Shrunk shrink(const Scenario& failing, std::uint32_t most_runs);

}  // namespace tributary::sim
