// `show ports`, `show drops` and `show buffers`: ports and what they take.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/switch/switch.h"

namespace tributary::control {

nlohmann::ordered_json show_ports(const dataplane::Switch& sw);
// By port, a row for each reason that there was.
nlohmann::ordered_json show_drops(const dataplane::Switch& sw);
nlohmann::ordered_json show_buffers(const dataplane::Switch& sw);

}  // namespace tributary::control
