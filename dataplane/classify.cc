#include "dataplane/classify.h"

namespace tributary::dataplane {
namespace {

constexpr wire::MacAddress kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

bool is_aggregation(const Identity& identity, const wire::UdpEndpoints& to) {
  return to.destination_ip == identity.ipv4 && to.destination_port >= identity.udp_first &&
         to.destination_port - identity.udp_first < identity.udp_count;
}

bool is_for_host(const Identity& identity, const wire::UdpEndpoints& to) {
  return identity.udp_hosting != 0 && to.destination_port == identity.udp_hosting &&
         to.destination_ip == identity.ipv4;
}

Classified drop(Classified c, DropReason reason) {
  c.action = Action::drop;
  c.reason = reason;
  return c;
}

// A frame whose destination is the switch (`ours`) or everybody.
Classified classify_local(const Identity& identity, Classified c, bool ours) {
  c.action = Action::forward;
  if (is_arp_request_for(identity, c.ethernet)) {
    c.action = Action::answer_arp;
    return c;
  }
  if (c.ethernet.ether_type != wire::kEtherTypeIpv4)
    return ours ? drop(c, DropReason::unhandled) : c;
  const auto parsed = wire::parse_udp4(c.ethernet.payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return ours ? drop(c, *bad) : c;
  const auto& udp = std::get<std::optional<wire::Udp4View>>(parsed);
  if (udp && is_aggregation(identity, udp->endpoints)) {
    c.action = Action::aggregate;
    c.udp = *udp;
    return c;
  }
  if (!ours) return c;
  if (udp && is_for_host(identity, udp->endpoints)) {
    c.action = Action::host;
    c.udp = *udp;
    return c;
  }
  if (!udp && is_echo_request_for(identity, c.ethernet)) {
    c.action = Action::answer_echo;
    return c;
  }
  return drop(c, DropReason::unhandled);
}

// A multicast frame: the switch above says something to this one, or it is none of our business.
Classified classify_group(const Identity& identity, Classified c) {
  if (c.ethernet.ether_type != wire::kEtherTypeIpv4) return c;
  const auto parsed = wire::parse_udp4(c.ethernet.payload);
  const auto* udp = std::get_if<std::optional<wire::Udp4View>>(&parsed);
  if (udp == nullptr || !*udp) return c;
  const wire::UdpEndpoints& to = (*udp)->endpoints;
  if (to.destination_port < identity.udp_first ||
      to.destination_port - identity.udp_first >= identity.udp_count)
    return c;
  for (const auto& parent : identity.parents) {
    if (to.destination_ip != parent.group_ipv4 || to.source_ip != parent.parent_ipv4) continue;
    c.action = Action::aggregate;
    c.udp = **udp;
    return c;
  }
  return c;
}

}  // namespace

Classified classify(const Identity& identity, std::span<const std::byte> frame, bool linear) {
  Classified c;
  const auto parsed = wire::parse_ethernet(frame);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return drop(c, *bad);
  c.ethernet = std::get<wire::EthernetView>(parsed);
  const auto& source = c.ethernet.source;
  if (wire::is_multicast(source) || wire::is_zero(source) || source == identity.mac)
    return drop(c, DropReason::bad_source_mac);
  const bool ours = c.ethernet.destination == identity.mac;
  if (ours && !linear) return drop(c, DropReason::frame_multi_segment);
  if (ours || (linear && c.ethernet.destination == kBroadcast))
    return classify_local(identity, c, ours);
  c.action = Action::forward;
  if (linear && !identity.parents.empty() && wire::is_multicast(c.ethernet.destination))
    return classify_group(identity, c);
  return c;
}

}  // namespace tributary::dataplane
