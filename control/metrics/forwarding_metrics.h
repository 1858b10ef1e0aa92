// Metrics of access control, of multicast groups, of LLDP, and of routers to peers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "control/metrics/metric_family.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// Frames that a rule decided on, of all lcores; the number of rules itself stands for the default.
std::uint64_t acl_hits(const dataplane::Switch& sw, std::size_t rule);

void collect_forwarding(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
