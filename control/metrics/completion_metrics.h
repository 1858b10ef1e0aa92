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

// What one engine has counted, and how it is told apart.
struct EngineFigures {
  Labels labels;
  const completion::JobCounters* counters = nullptr;
  std::uint64_t bytes_limit = 0;
};
// No `memory_bytes`: that cannot be told now.
void collect_engines(Families& out, std::span<const EngineFigures> engines,
                     std::optional<std::uint64_t> memory_bytes);

// Of a server's, or those that a switch hosts: one for each job and shard.
void add_figures(std::vector<EngineFigures>& figures, const completion::Server& server);

// Of the engines inside a switch, and of its dealings with those elsewhere.
void collect_completion(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
