// `show stragglers [JOB]`: which children are late here, by how much, and on which link.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/switch/switch.h"

namespace tributary::control {

// `job` is "" for all of them. Throws std::invalid_argument for one that is not there.
nlohmann::ordered_json show_stragglers(const dataplane::Switch& sw, const std::string& job);

}  // namespace tributary::control
