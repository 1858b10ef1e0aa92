// One configured job inside the engine: membership, its counters, and how its last epoch ended. The
// shards hold the job's other state. Internal to the aggregator folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aggregator/chunk/child_map.h"
#include "aggregator/engine/drain.h"
#include "aggregator/engine/engine.h"
#include "aggregator/engine/epoch_log.h"
#include "aggregator/engine/forming.h"
#include "aggregator/engine/membership.h"
#include "aggregator/engine/upstream.h"
#include "aggregator/shard/abort_cause.h"

namespace tributary::aggregator {

struct Job {
  Job(const config::JobConfig& config, std::uint32_t place,
      std::vector<std::uint16_t> pinned_ports);

  config::JobConfig config;
  ChildMap child_map;   // of the epoch that runs or forms
  std::uint32_t place;  // in the configuration
  Membership membership;
  Forming forming;
  std::optional<Upstream> upstream;   // of a switch that is not the job's root
  std::uint32_t first_seq = 0;        // of the running epoch
  std::uint32_t completion_host = 0;  // of shard 0, as START names it
  std::uint32_t host_term = 0;
  std::uint16_t host_udp_port =
      0;                         // below the root: of a host that notifies ranks, as START has it
  std::uint32_t left_at_op = 0;  // ranks that left in this epoch hold all results of ops before it
  Drain drain;
  AbortCause last_abort;
  // To ranks that are silent while others wait (engine_questions.cc).
  struct Questions {
    Instant due;
    std::uint64_t probes = 0;  // of the waiting ranks, when last looked at
    std::uint32_t next_child = 0;
  } questions;
  // Ranks from that one on had no part in the epoch before, and may join one that goes on from it.
  std::uint32_t newcomers_from = kNoNewcomers;
  static constexpr std::uint32_t kNoNewcomers = 0xFFFFFFFF;
  std::uint64_t epoch_serial = 0;  // serial of the last epoch, over all jobs of the engine; 0: none
  JobCounters counters;            // the job's own part; the shards hold theirs
  // Never nullptr; outlives a job that goes.
  std::unique_ptr<EpochLog> epochs = std::make_unique<EpochLog>();
  // State of a shard that is away (engine_away.cc), by shard.
  struct Away {
    std::uint32_t host_term = 0;        // its term, now or when it is back
    std::uint32_t accepted_before = 0;  // at the time of the hand-over
  };
  std::vector<Away> away;

  [[nodiscard]] wire::Header header(wire::PacketType type) const;
  // While no epoch runs.
  void resize(std::uint32_t workers);
  void start_epoch(std::uint16_t epoch, std::uint64_t serial, Instant now);
  // Bytes of the job itself and of all it points to.
  [[nodiscard]] std::size_t table_bytes() const;
};
static_assert(sizeof(Job) + sizeof(EpochLog) <= config::kJobBytes);
static_assert(sizeof(Endpoint) == config::kEndpointBytes);

}  // namespace tributary::aggregator
