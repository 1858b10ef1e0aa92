// `show lcores`, `show stages`, `show rxq` and `show handover`: what each packet loop does, which
// queues it has, and what goes from one to another.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/switch/switch.h"

namespace tributary::control {

// Where the time of each lcore went since the start.
nlohmann::ordered_json show_lcores(const dataplane::Switch& sw);
// The sum over all lcores.
nlohmann::ordered_json show_stages(const dataplane::Switch& sw);
// Throws std::invalid_argument when `lcore` is the number of none.
nlohmann::ordered_json show_stages(const dataplane::Switch& sw, const std::string& lcore);
nlohmann::ordered_json show_rxq(const dataplane::Switch& sw);
// No rows where there is one lcore.
nlohmann::ordered_json show_handover(const dataplane::Switch& sw);

}  // namespace tributary::control
