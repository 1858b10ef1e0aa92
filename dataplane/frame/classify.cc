#include "dataplane/frame/classify.h"

#include "core/net/fragment.h"
#include "core/net/lldp.h"
#include "core/net/pdelay.h"
#include "core/net/roce.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint16_t kEtherTypeSlow = 0x8809;   // IEEE 802.3, annex 57A: LACP and markers
constexpr std::uint16_t kEtherTypeEapol = 0x888E;  // IEEE 802.1X

bool is_aggregation(const Identity& identity, const wire::UdpEndpoints& to) {
  return to.destination_ip == identity.ipv4 && to.destination_port >= identity.udp_first &&
         to.destination_port - identity.udp_first < identity.udp_count;
}

bool is_for_host(const Identity& identity, const wire::UdpEndpoints& to) {
  return identity.udp_hosting != 0 && to.destination_port == identity.udp_hosting &&
         to.destination_ip == identity.ipv4;
}

bool is_rdma(const Identity& identity, const wire::UdpEndpoints& to) {
  return identity.takes_rdma && to.destination_port == wire::kRocePort &&
         to.destination_ip == identity.ipv4;
}

void drop(Classified& c, DropReason reason) {
  c.action = Action::drop;
  c.reason = reason;
}

// A fragment for the switch. Its datagram may be longer than a frame of the port.
bool is_fragment_for(const Identity& identity, const Classified& c) {
  wire::Fragment4View fragment;
  return identity.takes_fragments && wire::is_fragment4(c.ethernet.payload) &&
         wire::parse_fragment4(c.ethernet.payload, fragment) == DropReason::none &&
         fragment.destination_ip == identity.ipv4;
}

// ICMP port unreachable from the host to which the switch sent the quoted datagram.
bool take_returned(const Identity& identity, Classified& c) {
  const auto sent = parse_port_unreachable(c.ethernet.payload);
  if (!sent || sent->reporter != sent->endpoints.destination_ip ||
      sent->receiver != identity.ipv4 || sent->endpoints.source_ip != identity.ipv4)
    return false;
  const wire::UdpEndpoints& was = sent->endpoints;
  const wire::UdpEndpoints back{was.destination_ip, was.source_ip, was.destination_port,
                                was.source_port};
  if (!is_aggregation(identity, back)) return false;
  c.udp = {};
  c.udp.endpoints = back;
  c.udp.payload = sent->payload;
  return true;
}

// A frame whose destination is the switch (`ours`), a group or broadcast.
void classify_local(const Identity& identity, Classified& c, bool ours) {
  if (c.ethernet.ether_type != wire::kEtherTypeIpv4) {
    if (is_arp_request_for(identity, c.ethernet))
      c.action = Action::answer_arp;
    else if (is_arp_to_intercept(identity, c.ethernet))
      c.action = Action::intercept_arp;
    else if (ours)
      drop(c, DropReason::unhandled);
    return;
  }
  bool is_udp = false;
  const DropReason bad = wire::parse_udp4(c.ethernet.payload, c.udp, is_udp);
  if (ours && !is_udp && is_fragment_for(identity, c)) {
    c.action = Action::reassemble;
    return;
  }
  if (bad != DropReason::none) return ours ? drop(c, bad) : void();
  if (is_udp && is_aggregation(identity, c.udp.endpoints)) {
    c.action = Action::aggregate;
    return;
  }
  if (!ours) return;
  if (is_udp && is_for_host(identity, c.udp.endpoints)) {
    c.action = Action::host;
    return;
  }
  if (is_udp && is_rdma(identity, c.udp.endpoints)) {
    const bool set_up = wire::peek_qpn(c.udp.payload) == wire::kGeneralServicesQp;
    c.action = set_up ? Action::answer_cm : Action::rdma;
    return;
  }
  if (!is_udp && is_echo_request_for(identity, c.ethernet)) {
    c.action = Action::answer_echo;
    return;
  }
  if (!is_udp && take_returned(identity, c)) {
    c.action = Action::returned;
    return;
  }
  drop(c, DropReason::unhandled);
}

// Only the first fragment has the UDP ports, so the addresses have to suffice.
void classify_group_fragment(const Identity& identity, Classified& c) {
  wire::Fragment4View fragment;
  if (wire::parse_fragment4(c.ethernet.payload, fragment) != DropReason::none) return;
  for (const auto& parent : identity.parents)
    if (fragment.destination_ip == parent.group_ipv4 && fragment.source_ip == parent.parent_ipv4)
      c.action = Action::reassemble;
}

// A multicast frame: the switch above says something to this one, or it is none of our business.
void classify_group(const Identity& identity, Classified& c) {
  if (c.ethernet.ether_type != wire::kEtherTypeIpv4) return;
  bool is_udp = false;
  const DropReason bad = wire::parse_udp4(c.ethernet.payload, c.udp, is_udp);
  if (bad == DropReason::frame_fragment && identity.takes_fragments)
    return classify_group_fragment(identity, c);
  if (bad != DropReason::none || !is_udp) return;
  const wire::UdpEndpoints& to = c.udp.endpoints;
  if (to.destination_port < identity.udp_first ||
      to.destination_port - identity.udp_first >= identity.udp_count)
    return;
  for (const auto& parent : identity.parents)
    if (to.destination_ip == parent.group_ipv4 && to.source_ip == parent.parent_ipv4)
      c.action = Action::aggregate;
}

// The protocol's rule; drop, for one that has none.
config::ReservedRule rule_of(const config::ReservedGroups& rules, const wire::EthernetView& frame) {
  switch (frame.destination[5]) {
    case 0x00: return rules.bpdu;
    case 0x02:
      if (frame.ether_type == kEtherTypeSlow) return rules.lacp;
      break;
    case 0x03:
      if (frame.ether_type == kEtherTypeEapol) return rules.eapol;
      break;
    case 0x0E:
      if (frame.ether_type == wire::kEtherTypePtp) return rules.pdelay;
      break;
    default: break;
  }
  return config::ReservedRule::drop;
}

bool is_probe_of_link(const Identity& identity, const wire::EthernetView& frame) {
  return identity.probes_links && frame.destination == wire::kLldpGroup &&
         frame.ether_type == wire::kEtherTypePtp && !frame.vlan_tci &&
         wire::is_probe(frame.payload);
}

// Neighbours' protocols: forwarded where a rule says so; any other frame ends here.
void classify_reserved(const Identity& identity, bool linear, Classified& c) {
  if (linear && is_probe_of_link(identity, c.ethernet)) {
    drop(c, DropReason::bridge_reserved);
    c.action = Action::probe;
    return;
  }
  const config::ReservedRule rule = rule_of(identity.reserved, c.ethernet);
  if (rule == config::ReservedRule::forward) return;
  if (rule == config::ReservedRule::guard) return drop(c, DropReason::bpdu_guard);
  drop(c, DropReason::bridge_reserved);
  if (linear && c.ethernet.ether_type == wire::kEtherTypeLldp && !c.ethernet.vlan_tci)
    c.action = Action::lldp;
}

}  // namespace

void classify_destination(const Identity& identity, bool linear, bool ours, Classified& c) {
  if (wire::is_bridge_reserved(c.ethernet.destination))
    return classify_reserved(identity, linear, c);
  if (ours && !linear) return drop(c, DropReason::frame_multi_segment);
  if (ours || (linear && c.ethernet.destination == kBroadcastMac))
    return classify_local(identity, c, ours);
  if (linear && !identity.parents.empty()) classify_group(identity, c);
}

}  // namespace tributary::dataplane
