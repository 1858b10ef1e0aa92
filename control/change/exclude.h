// Excluding children of a running switch by hand (rule 14).
#pragma once

#include <functional>
#include <string>

#include "control/change/request.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// The op from which on it holds. `report` gets a line for the event log. Throws
// std::invalid_argument where it cannot be done, and says why; std::runtime_error when the packet
// loop does not answer.
std::uint32_t exclude_rank(dataplane::Switch& sw, const ExcludeRequest& request,
                           const std::function<void(const std::string&)>& report);

}  // namespace tributary::control
