// What the engine counts. ShardCounters are written by the shard's owner, JobCounters' own ones by
// the engine's; any thread reads. A job's figures are sums over its shards.
#pragma once

#include <array>

#include "core/counter.h"

namespace tributary::aggregator {

// Of one job in one shard.
struct ShardCounters {
  Counter contributions;       // counted into a sum
  Counter contribution_bytes;  // payload of those
  Counter completions;
  Counter result_bytes;  // payload multicast, once per completion
  Counter duplicates;
  Counter probes;
  Counter resends;         // contributions with the resend flag
  Counter results_resent;  // answers from retained results
  Counter pending_replies;
  Counter unknown_replies;
  Counter slots_open;        // gauge
  Counter slots_high_water;  // gauge; a job's is the sum of its shards'
  Counter results_retained;  // gauge
  Counter slot_hold_ns_max;  // longest time from first contribution to completion or abort

  // Adds another shard's figures to these.
  void include(const ShardCounters& other);
};

// Of one job: the sum of its shards, and what concerns its membership.
struct JobCounters : ShardCounters {
  Counter nacks;
  Counter joins;
  Counter epochs;
  Counter aborts_deadline;
  Counter aborts_lease;
  Counter aborts_left;
  Counter aborts_restart;
  Counter aborts_mismatch;
  Counter aborts_shutdown;
  Counter members;  // gauge: ranks of the running epoch still present
};

inline void ShardCounters::include(const ShardCounters& other) {
  static constexpr std::array kSums = {
      &ShardCounters::contributions,   &ShardCounters::contribution_bytes,
      &ShardCounters::completions,     &ShardCounters::result_bytes,
      &ShardCounters::duplicates,      &ShardCounters::probes,
      &ShardCounters::resends,         &ShardCounters::results_resent,
      &ShardCounters::pending_replies, &ShardCounters::unknown_replies,
      &ShardCounters::slots_open,      &ShardCounters::slots_high_water,
      &ShardCounters::results_retained};
  for (const auto counter : kSums) (this->*counter).add((other.*counter).get());
  slot_hold_ns_max.raise_to(other.slot_hold_ns_max.get());
}

}  // namespace tributary::aggregator
