#include "dataplane/bridge/forwarder.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace tributary::dataplane {
namespace {

std::uint16_t port_index(const config::SwitchConfig& config, const std::string& name) {
  std::uint16_t index = 0;
  while (index < config.ports.size() && config.ports[index].name != name) ++index;
  return index;
}

Fdb::Statics static_addresses(const config::SwitchConfig& config) {
  Fdb::Statics statics;
  for (const auto& entry : config.forwarding.static_macs)
    if (const auto port = port_index(config, entry.port); port < config.ports.size())
      statics.add(entry.mac, port);
  return statics;
}

Duration refresh_for(Duration ageing) {
  return std::min(Duration::seconds(1), ageing / 8);
}

bool exceeds_mtu(const Lane& lane, const rte_mbuf* frame, const wire::EthernetView& view) {
  return frame->pkt_len > lane.most_bytes + (view.vlan_tci ? wire::kVlanBytes : 0);
}

void deny(Classified& c, DropReason reason) {
  c.action = Action::drop;
  c.reason = reason;
}

// Through a port that is no part of the tree: nothing to the switch itself, and nothing to a group.
bool may_come_by_path(const Classified& c) {
  return c.action == Action::forward && (c.destination & kGroupBit) == 0;
}

// At the same time, the higher port.
bool is_later(const Learned& address, const Fdb::Seen& known) {
  return address.at > known.at || (address.at == known.at && address.port > known.port);
}

}  // namespace

Forwarder::Forwarder(const config::SwitchConfig& config, std::uint64_t seed, Lanes& lanes,
                     Transmitter& transmitter, rte_mempool* pool, const GroupEnd& groups)
    : lanes_(lanes),
      refresh_(refresh_for(config.forwarding.fdb_ageing)),
      vlans_(config.ports),
      paths_(config.ports),
      acl_(config, vlans_),
      storm_(config.ports),
      fdb_(config.forwarding.fdb_entries, config.forwarding.fdb_ageing, config.ports.size(), seed),
      egress_(vlans_, lanes, transmitter, pool, chain_ports(lanes)),
      links_(config::kMaxPorts),
      takes_fragments_(config::takes_fragments(config)),
      groups_(groups) {
  if (config.forwarding.snooping.enabled) snooping_.emplace(config, seed, groups);
  for (std::uint16_t port = 0; port < config.ports.size(); ++port)
    fdb_.limit(port, config.ports[port].max_addresses);
  Fdb::Statics statics = static_addresses(config);
  fdb_.swap_statics(statics);
}

void Forwarder::prepare(const config::SwitchConfig& next, const config::ForwardingChange& parts,
                        Change& change) const {
  if (parts.vlans) {
    change.vlans.emplace(next.ports);
    change.other_vlans = vlans_.differences(*change.vlans);
  }
  if (parts.paths) change.paths.emplace(next.ports);
  if (parts.acl) change.acl = std::make_unique<Acl>(next, vlans_);
  if (parts.storm) change.storm.emplace(next.ports);
  if (parts.ageing) change.ageing = next.forwarding.fdb_ageing;
  if (parts.snooping && snooping_) change.snooping.emplace(next);
  if (!parts.addresses) return;
  if (Fdb::Statics statics = static_addresses(next); statics.ports != fdb_.statics().ports)
    change.statics = std::move(statics);
  for (const config::PortConfig& port : next.ports) change.limits.push_back(port.max_addresses);
}

void Forwarder::apply(Change& change) {
  if (change.vlans) std::swap(vlans_, *change.vlans);
  if (change.paths) std::swap(paths_, *change.paths);
  if (change.acl) acl_.swap(*change.acl);
  if (change.storm) std::swap(storm_, *change.storm);
  if (change.statics) fdb_.swap_statics(*change.statics);
  for (std::uint16_t port = 0; port < change.limits.size(); ++port)
    fdb_.limit(port, change.limits[port]);
  if (change.ageing) {
    fdb_.set_ageing(*change.ageing);
    refresh_ = refresh_for(*change.ageing);
  }
  if (change.snooping) snooping_->swap(*change.snooping);
  for (const auto& lane : lanes_) lane->last_source = 0;
  forget_behind(change.other_vlans);
}

void Forwarder::forget_behind(PortMask ports) {
  for (std::uint16_t port = 0; port < lanes_.size(); ++port)
    if ((ports & mask_of(port)) != 0) links_[port].losses = lanes_[port]->port->link().losses() - 1;
}

void Forwarder::look_at_ports() {
  fdb_.use_ports(lanes_.size());
  egress_.look_at_ports();
}

void Forwarder::forget_port(std::uint16_t port) {
  forget_behind(mask_of(port));
  if (snooping_) snooping_->forget(port);
}

void Forwarder::admit(std::uint16_t ingress, std::span<rte_mbuf* const> burst,
                      std::span<Classified> what, Instant now) {
  Lane& lane = *lanes_[ingress];
  if (lane.port->link().is_guarded()) {
    for (Classified& c : what.first(burst.size())) deny(c, DropReason::bpdu_guard);
    return;
  }
  for (std::size_t i = 0; i < burst.size(); ++i) {
    Classified& c = what[i];
    if (c.reason != DropReason::none) {
      if (c.reason == DropReason::bad_source_mac || c.reason == DropReason::frame_truncated ||
          c.reason == DropReason::own_address)
        continue;
      // Neighbours' own business is in no VLAN, and says nothing of where addresses are.
      if (c.reason == DropReason::bridge_reserved || c.reason == DropReason::bpdu_guard) {
        if (!acl_.idle() && acl_.verdict(i) != DropReason::none) deny(c, acl_.verdict(i));
        continue;
      }
    }
    DropReason refused = refusal(lane, burst[i], c, i);
    if (is_path_port(ingress)) {
      if (refused == DropReason::none && !may_come_by_path(c)) refused = DropReason::vlan_denied;
      if (refused != DropReason::none) deny(c, refused);
      continue;
    }
    const std::uint64_t key = mac_key(c.source, vlan_[i]);
    // The lane's last source was taken a moment ago, so it is where it belongs.
    if (refused == DropReason::none && fdb_.has_statics() && key != lane.last_source &&
        fdb_.is_elsewhere(key, lane.index))
      refused = DropReason::spoofed_mac;
    if (refused == DropReason::none) {
      learn(lane, key, now);
    } else {
      deny(c, refused);
    }
  }
}

inline DropReason Forwarder::refusal(Lane& lane, const rte_mbuf* frame, const Classified& what,
                                     std::size_t place) {
  const wire::EthernetView& view = what.ethernet;
  if (!acl_.idle() && acl_.verdict(place) != DropReason::none) return acl_.verdict(place);
  if (exceeds_mtu(lane, frame, view) && !may_be_long(what)) return DropReason::mtu;
  const std::uint16_t vlan = vlans_.vlan_of(lane.index, view);
  if (vlan == kNoVlan) return DropReason::vlan_denied;
  vlan_[place] = vlan;
  return DropReason::none;
}

inline void Forwarder::learn(Lane& lane, std::uint64_t key, Instant now) {
  if (key == lane.last_source && now < lane.learn_again) return;
  const auto known = fdb_.seen(key);
  if (known && known->port == lane.index && now - known->at < refresh_) {
    lane.last_source = key;
    lane.learn_again = known->at + refresh_;
    return;
  }
  learn_anew(lane, key, now);
}

// Tells the other lcores each time it learns, by the same rule as theirs (is_news()): otherwise two
// lcores that see an address on two ports could disagree for good.
void Forwarder::learn_anew(Lane& lane, std::uint64_t key, Instant now) {
  const wire::MacAddress mac = mac_of_key(key);
  const std::uint16_t vlan = vlan_of_key(key);
  const Learned address{mac, vlan, lane.index, now};
  if (peers_ != nullptr && !is_news(address)) return;
  if (fdb_.learn(mac, vlan, lane.index, now) && peers_ != nullptr) peers_->announce(address);
  // The address may have been seen on another port since: that port must learn it anew too.
  for (const auto& other : lanes_)
    if (other->last_source == key) other->learn_again = Instant();
  lane.last_source = key;
  lane.learn_again = now + refresh_;
}

bool Forwarder::is_news(const Learned& address) const {
  const auto known = fdb_.seen(address.mac, address.vlan);
  if (known && !is_later(address, *known)) return false;
  return !known || known->port != address.port || address.at - known->at >= refresh_;
}

void Forwarder::learn_from_peer(const Learned& address) {
  if (address.at < links_[address.port].lost_at) return;
  const auto known = fdb_.seen(address.mac, address.vlan);
  if (known && !is_later(address, *known)) return;
  fdb_.learn(address.mac, address.vlan, address.port, address.at);
  for (const auto& lane : lanes_)
    if (lane->last_source == mac_key(address.mac, address.vlan)) lane->learn_again = Instant();
}

std::size_t Forwarder::forget_lost(Instant now) {
  const std::uint16_t port = looked_at_;
  looked_at_ = static_cast<std::uint16_t>(port + 1U >= lanes_.size() ? 0U : port + 1U);
  Link& link = links_[port];
  if (const std::uint32_t losses = lanes_[port]->port->link().losses(); losses != link.losses) {
    link = {losses, now};
    lanes_[port]->last_source = 0;
  }
  return fdb_.forget(port, link.lost_at, kExpirePerTurn);
}

bool Forwarder::may_flood(std::uint16_t ingress, const wire::MacAddress& to, Instant now) {
  const Flooded kind = to == kBroadcastMac      ? Flooded::broadcast
                       : wire::is_multicast(to) ? Flooded::multicast
                                                : Flooded::unknown_unicast;
  return storm_.permit(ingress, kind, now);
}

void Forwarder::spread(Lane& lane, rte_mbuf* frame, const wire::EthernetView& view,
                       std::uint16_t vlan, Instant now) {
  const PortMask to = others(lane, vlan);
  if (to == 0) return drop(lane, frame, DropReason::no_egress);
  if (!storm_.idle() && !may_flood(lane.index, view.destination, now))
    return drop(lane, frame, DropReason::storm_control);
  if (snooping_ && wire::is_multicast(view.destination) && view.destination != kBroadcastMac)
    return spread_in_group(lane, frame, view, vlan, now, to);
  egress_.send(to, frame, view, vlan);
}

void Forwarder::spread_in_group(Lane& lane, rte_mbuf* frame, const wire::EthernetView& view,
                                std::uint16_t vlan, Instant now, PortMask to) {
  PortMask wanted = 0;
  switch (snooping_->way_of(lane.index, view, frame->nb_segs == 1, vlan, now, wanted)) {
    case Snooping::Way::malformed: return drop(lane, frame, DropReason::group_malformed);
    case Snooping::Way::beyond_limit: return drop(lane, frame, DropReason::snooping_limit);
    case Snooping::Way::keeper:
      if (!groups_.ways->of(groups_.lcore).give({frame, lane.index, vlan}))
        drop(lane, frame, DropReason::group_flood);
      return;
    case Snooping::Way::ports: break;
  }
  to &= wanted;
  if (to == 0) return drop(lane, frame, DropReason::no_member);
  egress_.send(to, frame, view, vlan);
}

std::size_t Forwarder::take_groups(Instant now) {
  if (groups_.ways == nullptr) return 0;
  std::size_t all = 0;
  if (groups_.keeps()) {
    std::array<GroupFrame, kBurst / 2> room;
    for (const auto& way : groups_.ways->all()) {
      const std::span messages = way->take(room);
      for (const GroupFrame& message : messages) take_message(message, now);
      all += messages.size();
    }
    return all;
  }
  std::array<GroupUpdate, 2 * kBurst> room;
  const std::span updates = groups_.ways->of(groups_.lcore).take(room);
  for (const GroupUpdate& update : updates) snooping_->apply(update);
  return updates.size();
}

// Looked into again: views into the frame do not travel. Storm control has let it through, and the
// VLAN is the one that it was received in.
void Forwarder::take_message(const GroupFrame& message, Instant now) {
  Lane& lane = *lanes_[message.port];
  rte_mbuf* const frame = message.frame;
  wire::EthernetView view;
  const std::span bytes(rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len);
  const DropReason damaged = wire::parse_ethernet(bytes, view);
  if (damaged != DropReason::none) return drop(lane, frame, damaged);
  const PortMask to = others(lane, message.vlan);
  if (to == 0) return drop(lane, frame, DropReason::no_egress);
  spread_in_group(lane, frame, view, message.vlan, now, to);
}

inline void Forwarder::forward_one(Lane& lane, rte_mbuf* frame, const Classified& what,
                                   std::uint16_t vlan, Instant now) {
  const wire::EthernetView& view = what.ethernet;
  const std::uint64_t key = mac_key(what.destination, vlan);
  if ((key & kGroupBit) != 0) return spread(lane, frame, view, vlan, now);
  const std::uint16_t egress = egress_of(what, vlan, now);
  if (egress == Fdb::kNoPort && !is_path_port(lane.index))
    return spread(lane, frame, view, vlan, now);
  if (egress == Fdb::kNoPort || egress == lane.index ||
      ((vlans_.members(vlan) | vlans_.path_ports()) & mask_of(egress)) == 0)
    return drop(lane, frame, DropReason::no_egress);
  egress_.send(egress, frame, view, vlan);
}

FrameVerdict::Way Forwarder::way_of(const Classified& what, std::size_t place, Instant now) const {
  FrameVerdict::Way way{.vlan = vlan_[place]};
  const std::uint64_t key = mac_key(what.destination, way.vlan);
  if ((key & kGroupBit) != 0) return way;
  if (const std::uint16_t egress = egress_of(what, way.vlan, now); egress != Fdb::kNoPort)
    way.egress = egress;
  return way;
}

void Forwarder::forward(std::uint16_t ingress, std::span<rte_mbuf* const> burst,
                        std::span<const Classified> what, std::span<const std::uint8_t> places,
                        Instant now) {
  Lane& lane = *lanes_[ingress];
  if (acl_.watches() && telemetry_ != nullptr)
    for (const std::size_t i : places)
      if (acl_.watch(i) != 0) telemetry_->watch(acl_.watch(i), burst[i]);
  for (const std::size_t i : places) forward_one(lane, burst[i], what[i], vlan_[i], now);
}

}  // namespace tributary::dataplane
