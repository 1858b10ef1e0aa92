#include "dataplane/forwarder.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace tributary::dataplane {
namespace {

constexpr wire::MacAddress kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

std::uint16_t port_index(const config::SwitchConfig& config, const std::string& name) {
  std::uint16_t index = 0;
  while (index < config.ports.size() && config.ports[index].name != name) ++index;
  return index;
}

bool exceeds_mtu(const Port& port, const rte_mbuf* frame, const wire::EthernetView& view) {
  const std::size_t tag = view.vlan_tci ? wire::kVlanBytes : 0;
  return frame->pkt_len > port.config().mtu + wire::kEthernetBytes + tag;
}

// At the same time, the higher port.
bool is_later(const Learned& address, const Fdb::Seen& known) {
  return address.at > known.at || (address.at == known.at && address.port > known.port);
}

}  // namespace

Forwarder::Forwarder(const config::SwitchConfig& config, std::uint64_t seed, Lanes& lanes,
                     Transmitter& transmitter, rte_mempool* pool)
    : lanes_(lanes),
      refresh_(std::min(Duration::seconds(1), config.forwarding.fdb_ageing / 8)),
      vlans_(config.ports),
      acl_(config, vlans_),
      storm_(config.ports),
      fdb_(config.forwarding.fdb_entries, config.forwarding.fdb_ageing, config.ports.size(), seed),
      egress_(vlans_, lanes, transmitter, pool, chain_ports(lanes)) {
  if (config.forwarding.snooping.enabled) snooping_.emplace(config, seed);
  for (std::uint16_t port = 0; port < config.ports.size(); ++port)
    fdb_.limit(port, config.ports[port].max_addresses);
  for (const auto& entry : config.forwarding.static_macs)
    if (const auto port = port_index(config, entry.port); port < config.ports.size())
      fdb_.add_static(entry.mac, port);
}

DropReason Forwarder::admit(std::uint16_t ingress, std::size_t i, const rte_mbuf* frame,
                            const wire::EthernetView& view, Instant now) {
  if (!acl_.idle() && acl_.verdict(i) != DropReason::count_) return acl_.verdict(i);
  if (exceeds_mtu(*lanes_[ingress]->port, frame, view)) return DropReason::mtu;
  const auto vlan = vlans_.vlan_of(ingress, view);
  if (!vlan) return DropReason::vlan_denied;
  learn(ingress, view, *vlan, now);
  return DropReason::count_;
}

void Forwarder::learn(std::uint16_t ingress, const wire::EthernetView& frame, std::uint16_t vlan,
                      Instant now) {
  Lane& lane = *lanes_[ingress];
  if (now < lane.learn_again && frame.source == lane.last_source && vlan == lane.last_vlan) return;
  if (peers_ != nullptr && !announce({frame.source, vlan, ingress, now})) return;
  fdb_.learn(frame.source, vlan, ingress, now);
  // The address may have been seen on another port since: that port must learn it anew too.
  for (const auto& other : lanes_)
    if (other->last_source == frame.source) other->learn_again = Instant();
  lane.last_source = frame.source;
  lane.last_vlan = vlan;
  lane.learn_again = now + refresh_;
}

// False: it is known well enough, everywhere. What is learned here is told, always, and by the same
// rule as there: or two lcores that see an address on two ports could keep two opinions.
bool Forwarder::announce(const Learned& address) {
  const auto known = fdb_.seen(address.mac, address.vlan);
  if (known && !is_later(address, *known)) return false;
  if (known && known->port == address.port && address.at - known->at < refresh_) return false;
  peers_->announce(address);
  return true;
}

void Forwarder::learn_from_peer(const Learned& address) {
  const auto known = fdb_.seen(address.mac, address.vlan);
  if (known && !is_later(address, *known)) return;
  fdb_.learn(address.mac, address.vlan, address.port, address.at);
  for (const auto& lane : lanes_)
    if (lane->last_source == address.mac) lane->learn_again = Instant();
}

bool Forwarder::may_flood(std::uint16_t ingress, const wire::MacAddress& to, Instant now) {
  const Flooded kind = to == kBroadcast         ? Flooded::broadcast
                       : wire::is_multicast(to) ? Flooded::multicast
                                                : Flooded::unknown_unicast;
  return storm_.permit(ingress, kind, now);
}

DropReason Forwarder::route(std::uint16_t ingress, const rte_mbuf* frame,
                            const wire::EthernetView& view, std::uint16_t vlan, Instant now,
                            PortMask& to) {
  const bool group = wire::is_multicast(view.destination);
  if (!group) {
    if (const auto egress = fdb_.lookup(view.destination, vlan, now)) {
      to &= mask_of(*egress);
      return to != 0 ? DropReason::count_ : DropReason::no_egress;
    }
  }
  if (to == 0) return DropReason::no_egress;
  if (!storm_.idle() && !may_flood(ingress, view.destination, now))
    return DropReason::storm_control;
  if (!group || !snooping_ || view.destination == kBroadcast) return DropReason::count_;
  const auto wanted = snooping_->ports_for(ingress, view, frame->nb_segs == 1, vlan, now);
  if (!wanted) return DropReason::group_malformed;
  to &= *wanted;
  return to != 0 ? DropReason::count_ : DropReason::no_member;
}

void Forwarder::forward(std::uint16_t ingress, rte_mbuf* frame, const wire::EthernetView& view,
                        Instant now) {
  const std::uint16_t vlan = vlans_.vlan_of(ingress, view).value_or(0);
  PortMask to = vlans_.members(vlan) & ~mask_of(ingress);
  const DropReason refused = route(ingress, frame, view, vlan, now, to);
  if (refused != DropReason::count_) return drop(*lanes_[ingress], frame, refused);
  egress_.send(to, frame, view, vlan);
}

}  // namespace tributary::dataplane
