// `show ops JOB`: the ops that are still known. `show op JOB/OP`: the timeline of an op, over all
// shards of this switch; plane by plane, each of which counts from its own first contribution.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/switch/switch.h"

namespace tributary::control {

// Both throw std::invalid_argument when the job or the op is not there.
nlohmann::ordered_json show_ops(const dataplane::Switch& sw, const std::string& job);
nlohmann::ordered_json show_op(const dataplane::Switch& sw, const std::string& name);

}  // namespace tributary::control
