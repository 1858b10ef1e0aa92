#include "tools/loadgen/lane.h"

#include "tools/loadgen/memif_lane.h"
#include "tools/loadgen/port_lane.h"

namespace tributary::loadgen {

std::unique_ptr<Lane> open_lane(const PlannedPort& port, rte_mempool* pool) {
  if (port.memif) return std::make_unique<MemifLane>(*port.memif);
  return std::make_unique<PortLane>(port.devargs, pool);
}

}  // namespace tributary::loadgen
