// `show holds [JOB]`: for how long slots were held (T22).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/switch/switch.h"

namespace tributary::control {

// Figures of the switch, and of each job and shard.
nlohmann::ordered_json show_holds(const dataplane::Switch& sw);
// The histogram of a job, over all its planes, or of "all". Throws std::invalid_argument for a job
// that is not there.
nlohmann::ordered_json show_holds(const dataplane::Switch& sw, const std::string& job);

}  // namespace tributary::control
