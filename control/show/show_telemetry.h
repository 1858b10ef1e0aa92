// `show telemetry [ports]`: what each packet loop did to packets, and what is known of ports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/switch/switch.h"

namespace tributary::control {

// `which` is "" or "ports"; throws std::invalid_argument for anything else.
nlohmann::ordered_json show_telemetry(const dataplane::Switch& sw, const std::string& which);

}  // namespace tributary::control
