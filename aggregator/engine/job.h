// One configured job inside the engine: membership, counters of it, and how its last epoch ended.
// What it has in the shards is theirs. Internal to the aggregator folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregator/chunk/child_map.h"
#include "aggregator/engine/engine.h"
#include "aggregator/engine/forming.h"
#include "aggregator/engine/membership.h"
#include "aggregator/engine/upstream.h"
#include "aggregator/shard/abort_cause.h"

namespace tributary::aggregator {

struct Job {
  Job(const config::JobConfig& config, std::uint32_t place,
      std::vector<std::uint16_t> pinned_ports);

  config::JobConfig config;
  const ChildMap child_map;
  std::uint32_t place;  // in the configuration
  Membership membership;
  Forming forming;
  std::optional<Upstream> upstream;   // of a switch that is not the job's root
  std::uint32_t first_seq = 0;        // of the running epoch
  std::uint32_t completion_host = 0;  // of shard 0, as START names it
  std::uint32_t host_term = 0;
  std::uint32_t left_at_op = 0;  // who has left in this epoch holds all results of ops before it
  AbortCause last_abort;
  std::uint64_t epoch_serial = 0;  // of the last epoch, among all of this engine; 0: there was none
  JobCounters counters;            // its own part; the shards have theirs
  // Of a shard that is away (engine_away.cc), by shard.
  struct Away {
    std::uint32_t host_term = 0;        // that it has, or will have when it is back
    std::uint32_t accepted_before = 0;  // when it went
  };
  std::vector<Away> away;

  [[nodiscard]] wire::Header header(wire::PacketType type) const;
  void start_epoch(std::uint16_t epoch, std::uint64_t serial, Instant now);
  // Of the job itself and all it points to.
  [[nodiscard]] std::size_t table_bytes() const;
};
static_assert(sizeof(Job) <= config::kJobBytes);
static_assert(sizeof(Endpoint) == config::kEndpointBytes);

}  // namespace tributary::aggregator
