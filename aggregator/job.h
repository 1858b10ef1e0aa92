// One configured job inside the engine: membership, a chunk table per shard, counters, and how
// its last epoch ended. Internal to the aggregator folder.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregator/chunk_table.h"
#include "aggregator/engine.h"
#include "aggregator/membership.h"
#include "core/wire/extension.h"

namespace tributary::aggregator {

// Longer lists of missing ranks are cut here.
inline constexpr std::size_t kMaxListedIds = wire::kMaxMissingIds;
// Enough to tell a late member why its epoch is over.
struct AbortCause {
  wire::Reason reason = wire::Reason::none;
  std::uint16_t epoch = 0;
  wire::Header chunk;  // op, chunk, seq and shard of the chunk concerned; otherwise zero
  std::vector<std::uint32_t> missing;
  bool has_error = false;
  wire::OpError error;
};

struct Job {
  Job(const config::JobConfig& config, std::vector<std::uint16_t> pinned_ports);

  config::JobConfig config;
  Membership membership;
  std::vector<std::unique_ptr<ChunkTable>> shards;
  AbortCause last_abort;
  std::uint32_t first_slot = 0;         // of the job's static partition (O7)
  std::vector<GroupCopy> group_copies;  // of the running epoch; their ports lie in group_ports_
  JobCounters counters;

  [[nodiscard]] wire::Header header(wire::PacketType type) const;
  void refresh_gauges();
  void start_epoch(std::uint16_t epoch, std::uint32_t first_seq, Instant now);
  void clear_tables(std::uint32_t first_seq);

 private:
  void group_members();

  std::vector<std::uint16_t> group_ports_;
};

}  // namespace tributary::aggregator
