// `show acl`, `show groups`, `show lldp` and `show fragments`: what happens to traffic that is not
// aggregation, and between whom.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dataplane/switch/switch.h"

namespace tributary::control {

nlohmann::ordered_json show_acl(const dataplane::Switch& sw);
nlohmann::ordered_json show_groups(const dataplane::Switch& sw);
nlohmann::ordered_json show_lldp(const dataplane::Switch& sw);
// No rows where the switch takes no fragments.
nlohmann::ordered_json show_fragments(const dataplane::Switch& sw);

}  // namespace tributary::control
