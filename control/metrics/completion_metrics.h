// The completion engine's figures as metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "completion/host/server.h"
#include "completion/pieces/counters.h"
#include "control/metrics/metric_family.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// One engine's counters, and the labels that identify it.
struct EngineFigures {
  Labels labels;
  const completion::JobCounters* counters = nullptr;
  std::uint64_t bytes_limit = 0;
};
// No `memory_bytes`: that cannot be told now.
void collect_engines(Families& out, std::span<const EngineFigures> engines,
                     std::optional<std::uint64_t> memory_bytes);

// Figures of a server, or of the engines that a switch hosts: one for each job and shard.
void add_figures(std::vector<EngineFigures>& figures, const completion::Server& server);

// Figures of the engines inside a switch, and of its exchange with hosts elsewhere.
void collect_completion(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
