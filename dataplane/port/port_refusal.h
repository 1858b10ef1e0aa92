// Errors of a port that cannot be opened or started, in words for the operator.
#pragma once

#include <string>

#include "config/model/switch_config.h"
#include "dataplane/frame/devargs.h"

namespace tributary::dataplane {

// Throws std::runtime_error: "port up (net_null0): WHAT".
[[noreturn]] void refuse_port(const config::PortConfig& port, const std::string& what);
// The same, with the reason that a call gave, an errno value, and the usual cause for a device of
// this kind.
[[noreturn]] void refuse_port(const config::PortConfig& port, const Devargs& device,
                              const std::string& what, int error);

}  // namespace tributary::dataplane
