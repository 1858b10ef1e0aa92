// What a port's DPDK device argument string says, as far as sizing and checking need it.
//
// Only strings are looked at: no device is opened. The frame limits come from how the drivers
// lay out their buffers, because neither af_packet nor memif reports them (DPDK 22.11).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/switch_config.h"

namespace tributary::dataplane {

struct Devargs {
  std::string device;  // net_memif0 or 0000:01:00.0
  std::string driver;  // net_memif; empty for a PCI address
  std::vector<std::pair<std::string, std::string>> arguments;

  [[nodiscard]] bool pci() const { return driver.empty(); }
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const;
  // Decimal value of `key`, or `fallback` when absent or not a number.
  [[nodiscard]] std::size_t number(std::string_view key, std::size_t fallback) const;
};
Devargs parse_devargs(std::string_view text);

// Largest frame, with one VLAN tag and without FCS, that this port must carry.
constexpr std::size_t largest_frame_bytes(const config::PortConfig& port) {
  return port.mtu + wire::kEthernetBytes + wire::kVlanBytes;
}

// Bytes that the driver may write into one mbuf, headroom excluded.
std::size_t data_bytes_needed(const config::PortConfig& port);

// A switch's port, or that of a node behind one.
enum class PortUse : std::uint8_t { forwarding, endpoint };

// Why this port cannot carry its MTU or cannot be used so, with the remedy; empty when nothing is
// wrong.
std::string check_devargs(const config::PortConfig& port, PortUse use = PortUse::forwarding);

}  // namespace tributary::dataplane
