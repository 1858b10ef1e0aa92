#include "dataplane/frame/vlan.h"

#include <algorithm>
#include <stdexcept>

#include "config/plan/port_places.h"

namespace tributary::dataplane {

using config::VlanMode;

VlanTable::VlanTable(const std::vector<config::PortConfig>& ports) {
  if (ports.size() > 8 * sizeof(PortMask)) throw std::invalid_argument("too many ports for a mask");
  for (std::uint16_t port = 0; port < ports.size(); ++port) {
    const config::PortVlan& vlan = ports[port].vlan;
    const std::uint16_t untagged =
        (vlan.mode == VlanMode::access ? vlan.id : vlan.native).value_or(0);
    rules_.push_back({vlan.mode, untagged});
    if (config::is_vacant(ports[port])) continue;
    if (vlan.mode == VlanMode::transparent)
      members_[0] |= mask_of(port);
    else
      transparent_ = false;
    if (vlan.mode == VlanMode::paths) path_ports_ |= mask_of(port);
    for (std::uint16_t id = 1; id <= config::kMaxVlan; ++id) {
      if (vlan.mode == VlanMode::paths) tagged_[id] |= mask_of(port);
      if (!carries(vlan, id)) continue;
      members_[id] |= mask_of(port);
      if (id != untagged) tagged_[id] |= mask_of(port);
    }
  }
}

std::uint16_t VlanTable::checked_vlan_of(std::uint16_t port,
                                         const wire::EthernetView& frame) const {
  const std::uint16_t id = vlan_id(frame);
  const PortRule& rule = rules_[port];
  if (rule.mode == VlanMode::transparent || rule.mode == VlanMode::paths) return id;
  if (rule.mode == VlanMode::none) return kNoVlan;
  if (id == 0) {
    // A tag of another kind, or one behind a priority tag, is a tag nevertheless.
    if (rule.untagged == 0 || is_vlan_tag(frame.ether_type)) return kNoVlan;
    return rule.untagged;
  }
  if (rule.mode == VlanMode::access || (members_[id] & mask_of(port)) == 0) return kNoVlan;
  return id;
}

PortMask VlanTable::differences(const VlanTable& other) const {
  PortMask ports = 0;
  for (std::uint16_t port = 0; port < std::min(rules_.size(), other.rules_.size()); ++port)
    if (rules_[port] != other.rules_[port]) ports |= mask_of(port);
  for (std::size_t vlan = 0; vlan < kVlanIds; ++vlan)
    ports |= members_[vlan] ^ other.members_[vlan];
  return ports;
}

}  // namespace tributary::dataplane
