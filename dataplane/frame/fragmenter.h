// Cuts frames that the switch itself sends into IPv4 fragments, for ports with a smaller MTU.
//
// Each fragment is a linear frame of its own: what several ports hold is read only, and drivers of
// shared memory take no chains. Only the loop's lcore.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "config/plan/lcore_plan.h"

struct rte_mbuf;
struct rte_mempool;

namespace tributary::dataplane {

class Fragmenter {
 public:
  // The largest frame, for the smallest MTU that a port may have.
  static constexpr std::size_t kMostPieces = 64;
  using Pieces = std::array<rte_mbuf*, kMostPieces>;

  Fragmenter(rte_mempool* pool, std::size_t lcore)
      : pool_(pool), next_id_(static_cast<std::uint16_t>(lcore)) {}

  // Fragments of a frame, in frames of at most `most_bytes` (a VLAN tag comes on top); the frame
  // stays as it is. Returns how many; 0: it is no IPv4 packet, or there are no buffers.
  std::size_t cut(const rte_mbuf* frame, std::size_t most_bytes, Pieces& pieces);

 private:
  rte_mempool* pool_;
  // One sequence for all datagrams. Lcores may send to the same destination, so each has its own
  // residue.
  std::uint16_t next_id_;
};

}  // namespace tributary::dataplane
