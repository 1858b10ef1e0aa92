// One configured job inside the engine: membership, counters of it, and how its last epoch ended.
// What it has in the shards is theirs. Internal to the aggregator folder.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/abort_cause.h"
#include "aggregator/engine.h"
#include "aggregator/membership.h"

namespace tributary::aggregator {

struct Job {
  Job(const config::JobConfig& config, std::uint32_t place,
      std::vector<std::uint16_t> pinned_ports);

  config::JobConfig config;
  std::uint32_t place;  // in the configuration
  Membership membership;
  AbortCause last_abort;
  std::vector<GroupCopy> group_copies;  // of the running epoch; their ports lie in group_ports_
  JobCounters counters;                 // its own part; the shards have theirs

  [[nodiscard]] wire::Header header(wire::PacketType type) const;
  void start_epoch(std::uint16_t epoch, Instant now);

 private:
  void group_members();

  std::vector<std::uint16_t> group_ports_;
};

}  // namespace tributary::aggregator
