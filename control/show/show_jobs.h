// `show jobs`, `show members`, `show tree` and `show slots`: aggregation jobs, plane by plane, in
// the order of the configuration.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/switch/switch.h"

namespace tributary::control {

nlohmann::ordered_json show_jobs(const dataplane::Switch& sw);
nlohmann::ordered_json show_members(const dataplane::Switch& sw);
// This switch's place in each job: the one above it, and its children in their order.
nlohmann::ordered_json show_tree(const dataplane::Switch& sw);
// The first 1024 that are taken.
nlohmann::ordered_json show_slots(const dataplane::Switch& sw);

}  // namespace tributary::control
