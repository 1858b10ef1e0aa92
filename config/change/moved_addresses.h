// Ports behind which addresses are elsewhere after a change of the tree: those that switches below
// have left; and all, where a way opens or closes (vlan.mode none or paths), since what was flooded
// round the other way has taught addresses on any port.
#pragma once

#include <cstdint>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

// Places in `before.ports`, ascending. A port that still leads to one of the switches counts too if
// another one has left it.
std::vector<std::uint16_t> ports_with_moved_addresses(const SwitchConfig& before,
                                                      const SwitchConfig& after);

}  // namespace tributary::config
