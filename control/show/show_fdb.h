// `show fdb` and `show vlans`: which addresses are known, and which ports each VLAN has.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/switch/switch.h"

namespace tributary::control {

// Throws std::invalid_argument unless `which` is "", "vlan=N", "port=NAME" or both.
nlohmann::ordered_json show_fdb(const dataplane::Switch& sw, const std::string& which);
nlohmann::ordered_json show_vlans(const dataplane::Switch& sw);

}  // namespace tributary::control
