// Which VLAN a frame is in, and which ports that VLAN has, in which form.
//
// Inside the switch every frame is in one VLAN: 0 is the network of untagged frames between
// transparent ports. Written at construction only; another one may take its place.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "core/net/frame.h"

namespace tributary::dataplane {

using PortMask = std::uint32_t;  // bit p: port p
inline constexpr std::size_t kVlanIds = 4096;
inline constexpr std::uint16_t kReservedVlan = 4095;  // IEEE 802.1Q-2018, table 9-2: never sent
// An optional VLAN would be written in two parts, and read in one that waits for both.
inline constexpr std::uint16_t kNoVlan = 0xFFFF;

constexpr PortMask mask_of(std::uint16_t port) {
  return PortMask{1} << port;
}

constexpr std::uint16_t vlan_id(const wire::EthernetView& frame) {
  return frame.vlan_tci ? *frame.vlan_tci & 0x0FFF : 0;
}

class VlanTable {
 public:
  explicit VlanTable(const std::vector<config::PortConfig>& ports);

  // Every port is transparent: frames leave as they came.
  [[nodiscard]] bool transparent() const { return transparent_; }
  // kNoVlan: the port does not take it.
  [[nodiscard]] std::uint16_t vlan_of(std::uint16_t port, const wire::EthernetView& frame) const {
    if (vlan_id(frame) == kReservedVlan) return kNoVlan;
    if (transparent_) return vlan_id(frame);
    return checked_vlan_of(port, frame);
  }
  [[nodiscard]] PortMask members(std::uint16_t vlan) const { return members_[vlan]; }
  // The members and path ports whose frames carry a tag.
  [[nodiscard]] PortMask tagged(std::uint16_t vlan) const { return tagged_[vlan]; }
  // Ports in no VLAN that take frames to one address whose way is known.
  [[nodiscard]] PortMask path_ports() const { return path_ports_; }
  // Ports that are in other VLANs there, or take other frames for theirs.
  [[nodiscard]] PortMask differences(const VlanTable& other) const;

 private:
  [[nodiscard]] std::uint16_t checked_vlan_of(std::uint16_t port,
                                              const wire::EthernetView& frame) const;

  struct PortRule {
    config::VlanMode mode = config::VlanMode::transparent;
    std::uint16_t untagged = 0;  // VLAN of frames without a tag; 0: they are not taken
    bool operator==(const PortRule&) const = default;
  };
  bool transparent_ = true;
  std::vector<PortRule> rules_;
  std::array<PortMask, kVlanIds> members_{};
  std::array<PortMask, kVlanIds> tagged_{};
  PortMask path_ports_ = 0;
};

// 802.1Q, 802.1ad, and what came before it.
constexpr bool is_vlan_tag(std::uint16_t ether_type) {
  return ether_type == wire::kEtherTypeVlan || ether_type == 0x88A8 || ether_type == 0x9100;
}

}  // namespace tributary::dataplane
