// The packet loops' figures as metrics, those of each lcore by themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "control/metrics/metric_family.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// Multicast group messages from one lcore to another, and those that found no room.
struct HandedGroups {
  std::uint64_t over = 0;
  std::uint64_t full = 0;
};
HandedGroups handed_groups(const dataplane::PacketLoops& loops, std::size_t from, std::size_t to);

void collect_loops(Families& out, dataplane::Switch& sw);

}  // namespace tributary::control
