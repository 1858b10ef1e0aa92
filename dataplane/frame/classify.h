// Decides what to do with a received frame. Looks at headers only, changes nothing.
//
//   from the switch's own MAC or IPv4 address, in ARP and behind tags of VLAN 0 as well: drop
//   to the switch's MAC, or broadcast:  aggregation port → aggregate
//                                       hosting port     → host, where engines are hosted
//                                       ARP, ICMP echo   → answer
//                                       ICMP port unreachable, of a datagram of the aggregation
//                                       ports            → returned
//                                       other ARP        → intercept_arp, where there are routers
//                                       fragments        → reassemble, where they are taken
//                                       RoCEv2, where jobs take it → answer_cm to queue pair 1,
//                                                          rdma to others
//   to the switch's MAC, anything else: drop, never flooded
//   to a bridge's own group:            LLDP → lldp; telemetry's probes of links → probe;
//                                       by the protocol's rule forward; drop
//   to a job's group, from the switch above: aggregate, or reassemble; the children get it from
//   here otherwise:                          forward
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "core/net/frame.h"
#include "dataplane/frame/local_host.h"
#include "dataplane/frame/mac_key.h"
#include "dataplane/frame/vlan.h"

namespace tributary::dataplane {

enum class Action : std::uint8_t {
  aggregate,
  host,
  rdma,
  forward,
  lldp,
  probe,  // of the link that the frame came by
  answer_arp,
  answer_echo,
  answer_cm,      // set-up of a queue pair
  returned,       // a datagram of the switch whose port at the host no process has
  intercept_arp,  // and forward it, if it is to a group or broadcast
  reassemble,
  drop,
};

struct Classified {
  Action action = Action::drop;
  DropReason reason = DropReason::none;  // of drop, and of lldp and probe if they are of no use
  wire::EthernetView ethernet;           // of all but a truncated frame, as are:
  std::uint64_t source = 0;              // mac_bits() of its addresses
  std::uint64_t destination = 0;
  // Set for aggregate, host, rdma and answer_cm; for returned, the datagram as far as it is quoted,
  // as if it had come from the host that it was sent to.
  wire::Udp4View udp;
};

// Decides about a frame to the switch's own address (`ours`), or to a group.
void classify_destination(const Identity& identity, bool linear, bool ours, Classified& frame);

// `frame` is the first segment; `linear` says that it is the whole frame. `own` is mac_bits() of
// the identity's address. Fields that the action does not use may hold anything.
inline void classify(const Identity& identity, std::uint64_t own, std::span<const std::byte> frame,
                     bool linear, Classified& into) {
  into.action = Action::drop;
  into.reason = wire::parse_ethernet(frame, into.ethernet);
  if (into.reason != DropReason::none) return;
  const auto [destination, source] = mac_pair(frame);
  into.source = source;
  into.destination = destination;
  if ((source & kGroupBit) != 0 || source == 0 || source == own) {
    into.reason = DropReason::bad_source_mac;
    return;
  }
  if (is_from_own_address(identity, into.ethernet)) {
    into.reason = DropReason::own_address;
    return;
  }
  if (into.ethernet.ether_type != wire::kEtherTypeIpv4 && is_vlan_tag(into.ethernet.ether_type)) {
    into.reason = judge_stacked_tags(identity, into.ethernet);
    if (into.reason != DropReason::none) return;
  }
  into.action = Action::forward;
  if ((destination & kGroupBit) != 0 || destination == own)
    classify_destination(identity, linear, destination == own, into);
}
inline void classify(const Identity& identity, std::span<const std::byte> frame, bool linear,
                     Classified& into) {
  classify(identity, mac_bits(identity.mac), frame, linear, into);
}
inline Classified classify(const Identity& identity, std::span<const std::byte> frame,
                           bool linear) {
  Classified c;
  classify(identity, frame, linear, c);
  return c;
}

}  // namespace tributary::dataplane
