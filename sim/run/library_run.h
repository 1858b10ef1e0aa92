// One run of ranks on the whole library: no op of theirs fails, whatever becomes of switches, and
// all get the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/network/trace.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

struct LibraryOutcome {
  std::optional<std::string> failure;  // the violation, and the state of all nodes then
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t ops = 0;      // ended, over all ranks
  std::uint64_t updates = 0;  // of these, of models
  std::uint64_t retries = 0;
  std::uint64_t moves = 0;  // of switches in the tree
};

// A scenario of draw_library_world(). `log` gets the event log, a line a call.
LibraryOutcome run_library(const Scenario& scenario, Trace::Sink log = {});

}  // namespace tributary::sim
