// The packet buffers of ports that have a pool of their own, because their drivers never give back
// what they receive into (PortKind::fill_buffers).
#pragma once

#include <cstddef>

#include "config/model/switch_config.h"

namespace tributary::config {

// Bytes of each, pool element header and rte_mbuf included: what the kernel takes as one chunk for
// XDP is a page at most. Exactly a page, as drivers count on buffers without gaps between them, and
// pools in pages of 4 KiB have none only then.
inline constexpr std::size_t kOwnBufferBytes = 4096;

// Those of one port; 0: it takes buffers of the pool on its socket.
std::size_t own_buffers(const SwitchConfig& config, const PortConfig& port);
// Those of all ports.
std::size_t own_buffers(const SwitchConfig& config);

}  // namespace tributary::config
