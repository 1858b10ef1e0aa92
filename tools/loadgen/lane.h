// One port of the generator: what arrives there, and the frames that wait to leave through it.
//
// Two kinds: a memif is played as a worker's library plays it (memif_lane.h), everything else over
// a DPDK driver (port_lane.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/time.h"
#include "tools/loadgen/plan.h"
#include "tools/loadgen/traffic/frame_sink.h"

struct rte_mempool;

namespace tributary::loadgen {

using Frame = std::span<const std::byte>;

class Lane : public FrameSink {
 public:
  static constexpr std::size_t kBurst = 64;

  // Tries to have a link where there is none; false: not now.
  virtual bool link_up(Instant now) = 0;
  // Why there is no link, as far as that is known.
  [[nodiscard]] virtual std::string trouble() const { return {}; }
  // Offers what waits to the device; returns how many frames went.
  virtual std::size_t flush() = 0;
  // A burst, whose frames are there until release(). Only the first segment of a chained frame.
  virtual std::span<const Frame> receive(Instant now) = 0;
  virtual void release() = 0;
};

// Throws std::runtime_error. `pool` is for the lanes that have a DPDK port.
std::unique_ptr<Lane> open_lane(const PlannedPort& port, rte_mempool* pool);

}  // namespace tributary::loadgen
