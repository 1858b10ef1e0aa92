// Datagrams to the switch itself, put together from their fragments.
//
//   fragment ─▶ the lcore that puts it together ─▶ datagrams of its port (datagrams.h) ─▶ frame
//
// A port's datagrams take nothing from those of others. Only the loop's lcore.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "dataplane/io/lane.h"
#include "dataplane/udp/datagrams.h"

struct rte_mempool;

namespace tributary::dataplane {

class Reassembly {
 public:
  // Made for the loop on `lcore`; `seed` is the same on all.
  Reassembly(const config::SwitchConfig& config, std::size_t lcore, std::uint64_t seed,
             rte_mempool* pool, Lanes& lanes);

  // The lcore that puts a fragment together with the others, wherever each was received. One that
  // polls the port.
  [[nodiscard]] std::uint16_t owner(std::uint16_t port, const wire::EthernetView& frame) const;

  // Takes the frame, which is linear and holds a fragment. The whole datagram's frame when it was
  // the last one; else nullptr. What is dropped is counted.
  rte_mbuf* add(std::uint16_t port, rte_mbuf* frame, const wire::EthernetView& view, Instant now);
  // Gives up what is too old, at most a burst of it; returns how many datagrams.
  std::size_t expire(Instant now);
  // Gives up what came through a port.
  void discard(std::uint16_t port);

  struct PortState {
    std::vector<std::uint16_t> lcores;  // that poll it
    std::unique_ptr<Datagrams> datagrams;
  };
  // Ports come and go, and queues move. By place: who polls it, and, where this loop is the first
  // time among them, room. Made by the control thread, one at a time.
  using Plan = std::vector<PortState>;
  [[nodiscard]] Plan plan(const config::SwitchConfig& next) const;
  // In the loop.
  void attach(Plan& plan);

 private:
  rte_mempool* pool_;
  Lanes& lanes_;
  std::size_t lcore_;
  std::uint64_t seed_;
  config::FragmentsConfig limits_;
  std::size_t frame_bytes_;       // of the largest one
  std::vector<PortState> ports_;  // by place, of all that there may be
};

}  // namespace tributary::dataplane
