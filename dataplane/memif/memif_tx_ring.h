// Frames from packet buffers into the empty ones that a memif client offers on a ring.
//
//   frame ──▶ fits what is offered ──▶ copied, shown to the client, woken if it asked for that
//               ├─ too little is offered: the caller keeps it
//               └─ an offer is none of the client's memory: the frame is dropped and counted
//
// A head that jumps breaks the ring, as does an eventfd that holds its writer up.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/counter.h"
#include "dataplane/memif/shared_regions.h"
#include "dataplane/memif/shared_ring.h"
#include "worker/transport/file_descriptor.h"

struct rte_mbuf;

namespace tributary::dataplane {

class MemifTxRing {
 public:
  // Buffers of the client that one frame may take.
  static constexpr std::uint16_t kMostPieces = 64;

  // `regions` outlives the ring. `event`: the client's eventfd.
  MemifTxRing(SharedRing ring, const SharedRegions& regions, worker::FileDescriptor event);

  // Frees the frames that it takes, and returns their number. `unsent`: of those, dropped; written
  // by the lcore that sends.
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count, Counter& unsent);
  // Any thread. The client broke the protocol: nothing is sent any more.
  [[nodiscard]] bool broken() const { return broken_.load(std::memory_order_relaxed); }

 private:
  std::uint16_t put(rte_mbuf& frame, std::uint16_t offered, Counter& unsent);
  std::uint16_t scatter(rte_mbuf& frame, std::uint16_t offered, Counter& unsent);
  std::uint16_t give_back(std::uint16_t pieces, Counter& unsent);
  void wake();

  SharedRing ring_;
  const SharedRegions* regions_;
  worker::FileDescriptor event_;
  std::uint16_t next_ = 0;
  std::atomic<bool> broken_{false};
};

}  // namespace tributary::dataplane
