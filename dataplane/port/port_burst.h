// Bursts of a port: a memif server's own, or a driver's, under the guard where a peer owns the
// memory that they touch (fault_guard.h).
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstdint>

#include "dataplane/memif/memif_port.h"
#include "dataplane/port/fault_guard.h"
#include "dataplane/port/port.h"

namespace tributary::dataplane {

// A burst that holds a driver's locks must not be cut short.
template <typename Burst>
Guarded run_guarded(const Port& port, Burst&& burst) {
  return port.locks() ? watched(burst) : guarded(burst);
}

// False: the peer has taken its memory away or broken its protocol, and nothing is received; it is
// lost (Port). `in_place`, `lent`: see MemifPort::receive().
inline bool receive_burst(Port& port, std::uint16_t queue, rte_mbuf** frames,
                          std::uint16_t capacity, std::uint16_t& received,
                          const std::byte** in_place = nullptr, bool* lent = nullptr) {
  received = 0;
  if (MemifPort* const memif = port.memif_server()) {
    if (!port.link().up() || memif->receive(queue, frames, capacity, received, in_place, lent))
      return true;
    port.lose_peer();
    return false;
  }
  const auto poll = [&] { received = rte_eth_rx_burst(port.ethdev(), queue, frames, capacity); };
  if (!port.shares_memory()) {
    poll();
    return true;
  }
  if (!port.link().up()) return true;
  const Guarded outcome = run_guarded(port, poll);
  if (outcome == Guarded::intact) return true;
  // The frames hold zeros that no peer sent.
  if (outcome == Guarded::stood_in) rte_pktmbuf_free_bulk(frames, received);
  received = 0;
  port.lose_peer();
  return false;
}

// The driver frees what it takes. False: the peer is lost (Port), as above.
// The `taken` frames are lost: all of them if the call was cut short, as it is unknown then which
// frames the driver had freed, and none may be touched again.
inline bool transmit_burst(Port& port, std::uint16_t queue, rte_mbuf** frames, std::uint16_t count,
                           std::uint16_t& taken) {
  taken = 0;
  if (MemifPort* const memif = port.memif_server()) {
    if (memif->transmit(queue, frames, count, taken)) return true;
    port.lose_peer();
    return false;
  }
  const auto transmit = [&] { taken = rte_eth_tx_burst(port.ethdev(), queue, frames, count); };
  if (!port.shares_memory()) {
    transmit();
    return true;
  }
  const Guarded outcome = run_guarded(port, transmit);
  if (outcome == Guarded::intact) return true;
  if (outcome == Guarded::cut_short) taken = count;
  port.lose_peer();
  return false;
}

}  // namespace tributary::dataplane
