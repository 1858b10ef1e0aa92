// One run: builds the world that a scenario describes, lets it happen, and says how it ended.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/check/measurements.h"
#include "sim/network/trace.h"
#include "sim/rules/reach.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

struct Outcome {
  std::optional<std::string> failure;  // the violation, and the state of all nodes then
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t packets = 0;  // put on a link
  Instant ended_at;
  std::uint64_t ops_done = 0;
  std::uint64_t sessions_failed = 0;
  std::uint32_t ranks_done = 0;
  std::uint32_t ranks = 0;
  Reach reach;
};

// `log` gets the event log, a line a call.
Outcome simulate(const Scenario& scenario, Trace::Sink log = {});

// How far a run has come.
struct Progress {
  Instant now;
  std::uint64_t events = 0;
  std::uint64_t bytes_returned = 0;  // to all ranks
  std::uint32_t ranks_done = 0;
};
using ProgressSink = std::function<void(const Progress&)>;
// `progress` is called every kProgressEvents events.
inline constexpr std::uint64_t kProgressEvents = 1u << 20;
Outcome measure(const Scenario& scenario, Measurements& measurements,
                const ProgressSink& progress = {}, Trace::Sink log = {});

}  // namespace tributary::sim
