// Draining jobs of a running switch by hand (docs/protocol/drains.md): for its maintenance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/change/request.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// Waits until the epochs are over. Returns the jobs concerned. Throws std::invalid_argument where
// there is no such job, std::runtime_error when some job could not be drained, and says which.
std::vector<std::uint32_t> drain_jobs(dataplane::Switch& sw, const DrainRequest& request);

// "job 1", "jobs 1, 2"
std::string list_of_jobs(const std::vector<std::uint32_t>& jobs);

}  // namespace tributary::control
