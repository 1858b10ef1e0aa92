// Which VLANs a port carries, and in which form.
//
//   transparent   every VLAN, frames as they are; untagged ones are VLAN 0, a network of their own
//   access        one VLAN, untagged both ways
//   trunk         the allowed VLANs, tagged; the native one, if there is any, untagged
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

enum class VlanMode : std::uint8_t { transparent, access, trunk };

struct PortVlan {
  VlanMode mode = VlanMode::transparent;
  std::optional<std::uint16_t> id;      // of an access port
  std::vector<NumberRange> allowed;     // on a trunk; none: all
  std::optional<std::uint16_t> native;  // of a trunk; also allowed
};

// Of 1 to kMaxVlan.
inline bool carries(const PortVlan& port, std::uint16_t vlan) {
  if (port.mode == VlanMode::access) return port.id == vlan;
  if (port.mode == VlanMode::transparent || port.allowed.empty() || port.native == vlan)
    return true;
  return std::any_of(port.allowed.begin(), port.allowed.end(), [vlan](const NumberRange& range) {
    return range.first <= vlan && vlan <= range.last;
  });
}

// "transparent", "access 10", "trunk 10,100-199 native 10".
std::string text_of(const PortVlan& port);

}  // namespace tributary::config
