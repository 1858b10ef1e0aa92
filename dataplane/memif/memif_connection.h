// A memif client's regions, mapped and checked, and a ring each way for each queue of the port.
#pragma once

#include <deque>

#include "dataplane/memif/memif_handshake.h"
#include "dataplane/memif/memif_rx_ring.h"
#include "dataplane/memif/memif_tx_ring.h"
#include "dataplane/memif/shared_regions.h"

namespace tributary::dataplane {

class MemifConnection {
 public:
  // Throws MemifRefusal where rings do not lie in their regions, or on each other.
  explicit MemifConnection(MemifOffer offer);
  MemifConnection(const MemifConnection&) = delete;
  MemifConnection& operator=(const MemifConnection&) = delete;

  // A queue of the port has one of each.
  MemifRxRing& rx(std::uint16_t queue) { return rx_[queue]; }
  MemifTxRing& tx(std::uint16_t queue) { return tx_[queue]; }
  [[nodiscard]] bool unchecked() const { return unchecked_; }
  // Any thread. The client broke the protocol on some ring.
  [[nodiscard]] bool broken() const;

 private:
  SharedRing begin(const MemifOffer::Ring& ring, bool interrupts);

  bool unchecked_;
  SharedRegions regions_;
  std::deque<MemifRxRing> rx_;
  std::deque<MemifTxRing> tx_;
};

}  // namespace tributary::dataplane
