// Snapshots for `show`: queue pairs of a packet loop with the ranks at their other ends, and how
// ranks reach the switch. Filled on the loop's thread on request; they allocate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregator/engine/engine.h"
#include "dataplane/rdma/connected/connected_ranks.h"
#include "dataplane/rdma/queue_pairs.h"

namespace tributary::dataplane {

struct QueuePairStatus {
  struct RankEnd {
    std::uint32_t rank = 0;
    std::uint32_t qpn = 0;
    Endpoint peer;
  };
  // On RC: packets that were sent again, and NAKs, RNR NAKs among them, both ways.
  struct Repair {
    std::uint64_t resent = 0;
    std::uint64_t naks_sent = 0;
    std::uint64_t naks_received = 0;
  };
  std::uint32_t job = 0;
  std::uint32_t qpn = 0;
  const char* type = "UD";
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::optional<Repair> repair;
  std::vector<RankEnd> ranks;
};
std::vector<QueuePairStatus> queue_pair_status(const QueuePairs& pairs,
                                               const ConnectedRanks& connections,
                                               const aggregator::Engine& engine, Instant now);

// How the ranks of a job that are on this switch send to it: "udp", which memif's is as well,
// "rdma UD", "rdma RC" or "rdma UC"; "rdma" alone where the connection is no more.
struct RankTransport {
  std::uint32_t rank = 0;
  std::string by;
};
std::vector<RankTransport> rank_transports(std::uint32_t job, const ConnectedRanks& connections,
                                           const aggregator::Engine& engine, Instant now);
// Those of some ranks, behind each other where they differ. Empty: none is known. Any thread.
std::string transports_of(std::span<const std::uint32_t> ranks,
                          std::span<const RankTransport> known);

}  // namespace tributary::dataplane
