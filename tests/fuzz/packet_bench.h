// The real packet loops over ring ports, for the fuzzer: ports, rings and pools are made once in a
// process, because that takes longer than an input; the loops, and all that they know, are made
// anew for each input, so that it does the same wherever it comes.
//
//   give() ─▶ [ring] ─▶ PacketLoop::turn() ─▶ [ring] ─▶ take()
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/model/switch_config.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/port/frame_pools.h"

struct rte_ring;

namespace tributary::fuzz {

class PacketBench {
 public:
  static constexpr std::size_t kPorts = 3;
  static constexpr unsigned kRing = 64;  // a frame less fits; a slow port is full soon
  static constexpr std::uint16_t kFirstEpoch = 77;

  static PacketBench& instance();
  // Ports p0 to p2 with different MTUs, of which the last one says that it checks UDP checksums.
  static config::SwitchConfig ports_config();

  void start(const config::SwitchConfig& config);
  // Neither loops nor rings hold anything afterwards.
  void stop();

  dataplane::PacketLoops& packet_loops() { return *packet_loops_; }
  dataplane::Port& port(std::size_t place) { return *ports_[place]; }
  void set_link(std::size_t place, bool up);

  // False: the port's ring is full, and the frame is the caller's still.
  bool give(std::size_t port, rte_mbuf* frame);
  [[nodiscard]] bool waits(std::size_t port) const;
  std::vector<rte_mbuf*> take(std::size_t port);

  // Pool of frames that arrive; the switch's own come from switch_pool().
  [[nodiscard]] rte_mempool* arrivals() const { return arrivals_; }
  [[nodiscard]] rte_mempool* switch_pool() const { return (*pools_)[0].get(); }
  // That are neither in a pool nor in its cache: given back twice, one makes it negative.
  static std::int64_t in_use(rte_mempool* pool);

 private:
  PacketBench();

  std::unique_ptr<dataplane::FramePools> pools_;
  rte_mempool* arrivals_;
  std::array<rte_ring*, kPorts> in_{};
  std::array<rte_ring*, kPorts> out_{};
  std::vector<std::unique_ptr<dataplane::Port>> ports_;
  std::unique_ptr<dataplane::PacketLoops> packet_loops_;
};

}  // namespace tributary::fuzz
