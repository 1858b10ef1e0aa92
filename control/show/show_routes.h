// `show routes` and `show neighbours`: peers behind routers, and whether their next hops answer.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/switch/switch.h"

namespace tributary::control {

nlohmann::ordered_json show_routes(const dataplane::Switch& sw);
nlohmann::ordered_json show_neighbours(const dataplane::Switch& sw);

}  // namespace tributary::control
