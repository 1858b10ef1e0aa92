// What becomes of frames to groups that IEEE 802.1Q-2018 (8.6.3) reserves for neighbours, where the
// switch does not speak the protocol itself. (LLDP has keys of its own: config/model/lldp.h.)
#pragma once

#include <cstdint>

namespace tributary::config {

enum class ReservedRule : std::uint8_t {
  forward,  // as any other group
  drop,
  guard,  // and the port that hears one is down until its link is lost, or it is opened again
};

// By protocol.
struct ReservedGroups {
  // Spanning tree: a switch that speaks none and drops them lets nobody cut a loop through it.
  ReservedRule bpdu = ReservedRule::forward;
  // Of two neighbours on one link: passed on, they would bundle or authenticate the wrong ones.
  ReservedRule lacp = ReservedRule::drop;
  ReservedRule eapol = ReservedRule::drop;
  ReservedRule pdelay = ReservedRule::drop;
};

}  // namespace tributary::config
