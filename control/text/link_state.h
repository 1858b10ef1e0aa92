// The state of a port's link as tables and metrics show it.
#pragma once

#include <cstdint>

#include "dataplane/switch/switch.h"

namespace tributary::control {

enum class LinkState : std::uint8_t {
  up,
  listening,  // a server of memif or vhost-user that waits for a peer
  down,
};

const char* name_of(LinkState state);

// A server without a peer is down, and not listening, while a rank that is tied to the port
// (`members[].port`) may be missing: its job's epoch runs. While the configuration is held.
LinkState link_state(const dataplane::Switch& sw, const dataplane::Port& port);

}  // namespace tributary::control
