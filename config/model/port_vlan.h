// The VLANs that a port carries, and whether their frames are tagged.
//
//   transparent   every VLAN, frames as they are; untagged ones are VLAN 0, a network of their own
//   access        one VLAN, untagged both ways
//   trunk         the allowed VLANs, tagged; the native one, if there is any, untagged
//   none          no VLAN: the port learns, floods and forwards nothing
//   paths         no VLAN, but frames to one address, as they are: those that a pinned path sends
//                 out here, and those that come in and whose way is known; nothing is learned
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/text/number_range.h"

namespace tributary::config {

inline constexpr std::uint16_t kMaxVlan = 4094;  // 0 means "untagged", 4095 is reserved
inline constexpr std::size_t kMaxVlanRanges = 256;

enum class VlanMode : std::uint8_t { transparent, access, trunk, none, paths };

// A port in no VLAN is no part of the tree along which frames are flooded.
constexpr bool is_off_the_tree(VlanMode mode) {
  return mode == VlanMode::none || mode == VlanMode::paths;
}

struct PortVlan {
  VlanMode mode = VlanMode::transparent;
  std::optional<std::uint16_t> id;      // of an access port
  std::vector<NumberRange> allowed;     // on a trunk; none: all
  std::optional<std::uint16_t> native;  // of a trunk; also allowed
};

// `vlan` is 1 to kMaxVlan.
inline bool carries(const PortVlan& port, std::uint16_t vlan) {
  if (is_off_the_tree(port.mode)) return false;
  if (port.mode == VlanMode::access) return port.id == vlan;
  if (port.mode == VlanMode::transparent || port.allowed.empty() || port.native == vlan)
    return true;
  return std::any_of(port.allowed.begin(), port.allowed.end(), [vlan](const NumberRange& range) {
    return range.first <= vlan && vlan <= range.last;
  });
}

// "transparent", "none", "access 10", "trunk 10,100-199 native 10".
std::string text_of(const PortVlan& port);

}  // namespace tributary::config
