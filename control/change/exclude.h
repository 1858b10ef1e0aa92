// Excluding children of a running switch by hand (rule 14).
#pragma once

#include "control/change/request.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// The op from which on it holds. Throws std::invalid_argument where it cannot be done, and says
// why; std::runtime_error when the packet loop does not answer.
std::uint32_t exclude_rank(dataplane::Switch& sw, const ExcludeRequest& request);

}  // namespace tributary::control
