// `show qps`: the switch's queue pairs, and the ranks that are on the other end of each.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/switch/switch.h"

namespace tributary::control {

nlohmann::ordered_json show_qps(const dataplane::Switch& sw);

}  // namespace tributary::control
