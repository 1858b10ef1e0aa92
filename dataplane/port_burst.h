// A driver's bursts, under the guard where a peer owns the memory that they touch (fault_guard.h).
#pragma once

#include <rte_ethdev.h>

#include <cstdint>

#include "dataplane/fault_guard.h"
#include "dataplane/port.h"

namespace tributary::dataplane {

// False: the peer has taken its memory away, and nothing is received.
inline bool receive_burst(const Port& port, std::uint16_t queue, rte_mbuf** frames,
                          std::uint16_t capacity, std::uint16_t& received) {
  received = 0;
  const auto poll = [&] { received = rte_eth_rx_burst(port.ethdev(), queue, frames, capacity); };
  if (!port.shares_memory()) {
    poll();
    return true;
  }
  if (!port.link_up() || guarded(poll)) return true;
  received = 0;
  return false;
}

// The driver frees what it takes. False: the peer has taken its memory away; which of the frames
// the driver had freed is unknown, and none may be touched again.
inline bool transmit_burst(const Port& port, std::uint16_t queue, rte_mbuf** frames,
                           std::uint16_t count, std::uint16_t& taken) {
  taken = 0;
  const auto transmit = [&] { taken = rte_eth_tx_burst(port.ethdev(), queue, frames, count); };
  if (port.shares_memory()) return guarded(transmit);
  transmit();
  return true;
}

}  // namespace tributary::dataplane
