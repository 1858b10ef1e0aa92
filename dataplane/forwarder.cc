#include "dataplane/forwarder.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

std::uint16_t vlan_id(const wire::EthernetView& frame) {
  return frame.vlan_tci.value_or(0) & 0x0FFF;
}

std::uint16_t port_index(const config::SwitchConfig& config, const std::string& name) {
  std::uint16_t index = 0;
  while (index < config.ports.size() && config.ports[index].name != name) ++index;
  return index;
}

}  // namespace

Forwarder::Forwarder(const config::SwitchConfig& config, std::uint64_t seed, Lanes& lanes,
                     Transmitter& transmitter)
    : lanes_(lanes),
      transmitter_(transmitter),
      refresh_(std::min(Duration::seconds(1), config.forwarding.fdb_ageing / 8)),
      fdb_(config.forwarding.fdb_entries, config.forwarding.fdb_ageing, config.ports.size(), seed) {
  for (const auto& entry : config.forwarding.static_macs)
    if (const auto port = port_index(config, entry.port); port < config.ports.size())
      fdb_.add_static(entry.mac, port);
}

void Forwarder::learn(std::uint16_t ingress, const wire::EthernetView& frame, Instant now) {
  Lane& lane = *lanes_[ingress];
  const std::uint16_t vlan = vlan_id(frame);
  if (now < lane.learn_again && frame.source == lane.last_source && vlan == lane.last_vlan) return;
  fdb_.learn(frame.source, vlan, ingress, now);
  // The address may have been seen on another port since: that port must learn it anew too.
  for (const auto& other : lanes_)
    if (other->last_source == frame.source) other->learn_again = Instant();
  lane.last_source = frame.source;
  lane.last_vlan = vlan;
  lane.learn_again = now + refresh_;
}

void Forwarder::forward(std::uint16_t ingress, rte_mbuf* frame, const wire::EthernetView& view,
                        Instant now) {
  if (!wire::is_multicast(view.destination)) {
    if (const auto egress = fdb_.lookup(view.destination, vlan_id(view), now)) {
      if (*egress == ingress) return drop(*lanes_[ingress], frame, DropReason::no_egress);
      return transmitter_.send(*egress, frame);
    }
  }
  transmitter_.flood(ingress, frame);
}

}  // namespace tributary::dataplane
