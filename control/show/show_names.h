// `show names`: what the switch keeps of each job's named data, and how it was asked for.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/switch/switch.h"

namespace tributary::control {

nlohmann::ordered_json show_names(const dataplane::Switch& sw);

}  // namespace tributary::control
