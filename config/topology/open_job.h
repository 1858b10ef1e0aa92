// The configuration of a job that ranks open (A4), at a switch that learns of it.
//
//   node 0, 1, ...: units ranks each ──▶ first switch of the node ──▶ the switch above, of all
//   nodes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

// Why a job cannot be opened; of limit none: it can be.
struct OpenShortage {
  wire::OpenLimit limit = wire::OpenLimit::none;
  std::uint32_t needed = 0;
  std::uint32_t there = 0;

  bool operator==(const OpenShortage&) const = default;
};
// "with it there would be 17 jobs; switch.open_jobs.jobs is 16"
std::string text_of(const OpenShortage& shortage);

// At the switch with this node's units. A job of several nodes needs open_jobs.parent.
JobConfig open_below(const OpenJobsConfig& open, std::uint32_t id, const wire::OpenJob& task,
                     std::uint16_t node);
// At the switch above them; `switches` are the nodes', in order.
JobConfig open_above(std::uint32_t id, const wire::OpenJob& task,
                     const std::vector<OpenNeighbour>& switches);

// The bound that the job would exceed at a switch whose configuration has all jobs that are open.
OpenShortage shortage_of(const SwitchConfig& config, const JobConfig& job);

// The switch's own configuration, with those of the jobs that have a place in it; the others are
// taken out of `open`. Throws std::invalid_argument where the whole is not possible.
SwitchConfig with_open(SwitchConfig own, std::vector<JobConfig>& open);

}  // namespace tributary::config
