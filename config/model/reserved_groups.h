// Rules for frames to the groups that IEEE 802.1Q-2018 (8.6.3) reserves for neighbours, by
// protocol. The switch speaks none of these itself. (LLDP has keys of its own:
// config/model/lldp.h.)
#pragma once

#include <cstdint>

namespace tributary::config {

enum class ReservedRule : std::uint8_t {
  forward,  // like any other group
  drop,
  guard,  // and the port that receives one is down until its link is lost, or it is reopened
};

// The rule of each protocol.
struct ReservedGroups {
  // Spanning tree. If the switch dropped BPDUs, its neighbours could not detect a loop through it.
  ReservedRule bpdu = ReservedRule::forward;
  // If forwarded, these would bundle or authenticate two devices that share no link.
  ReservedRule lacp = ReservedRule::drop;
  ReservedRule eapol = ReservedRule::drop;
  ReservedRule pdelay = ReservedRule::drop;
};

}  // namespace tributary::config
