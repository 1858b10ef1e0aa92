// A port's DPDK device arguments, parsed as far as sizing and checking need it.
//
// Only strings are looked at: no device is opened. The frame limits come from how the drivers
// lay out their buffers, because neither af_packet nor memif reports them (DPDK 22.11).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "config/model/devargs.h"
#include "config/model/switch_config.h"

namespace tributary::dataplane {

using config::Devargs;
using config::parse_devargs;

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
