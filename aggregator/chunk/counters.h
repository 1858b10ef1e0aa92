// The engine's counters. The shard's owner writes ShardCounters, the engine's thread JobCounters'
// own ones; any thread reads. A job's figures are sums over its shards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/counter.h"
#include "core/log_histogram.h"
#include "core/time.h"
#include "core/wire/types.h"

namespace tributary::aggregator {

// The reasons for an escalation come first in wire::Reason.
inline constexpr std::size_t kEscalationReasons =
    static_cast<std::size_t>(wire::Reason::verify) + 1;

// How long slots were held (T22).
struct HoldTimes {
  using Histogram = LogHistogram<10, 29>;  // the first bucket: below 1 us
  static constexpr std::size_t kBuckets = Histogram::kBuckets;
  Histogram ns;
  Counter total_ns;

  // Times in a bucket are below its bound; the last bucket holds any longer time, too.
  static constexpr Duration bound(std::size_t bucket) {
    return Duration::ns(static_cast<std::int64_t>(Histogram::bound(bucket)));
  }
  void add(Duration held) {
    const auto time = static_cast<std::uint64_t>(held.to_ns());
    ns.add(time);
    total_ns.add(time);
  }
  [[nodiscard]] std::uint64_t in(std::size_t bucket) const { return ns.in(bucket); }
  [[nodiscard]] std::uint64_t count() const { return ns.count(); }
  [[nodiscard]] Duration percentile(std::uint64_t percent, Duration longest) const {
    const auto most = static_cast<std::uint64_t>(longest.to_ns());
    return Duration::ns(static_cast<std::int64_t>(ns.percentile(percent, most)));
  }
  void include(const HoldTimes& other) {
    ns.include(other.ns);
    total_ns.add(other.total_ns.get());
  }
};

// Counters of one job in one shard.
struct ShardCounters {
  // Counters that most packets update, together.
  Counter contributions;       // taken into a sum
  Counter contribution_bytes;  // payload of those
  Counter bytes_in;            // payload of all contributions
  Counter completions;         // chunks finished here
  Counter result_bytes;        // payload multicast, once per chunk
  Counter bytes_out;           // payload of all messages, once each
  Counter slots_open;          // gauge
  Counter slots_high_water;    // gauge; a job's is the sum of its shards'
  Counter results_retained;    // gauge

  Counter duplicates;
  Counter stale;  // data of a chunk that was finished long ago
  Counter probes;
  Counter resends;         // contributions with the resend flag
  Counter results_resent;  // answers from retained results
  Counter pending_replies;
  Counter unknown_replies;
  Counter saturated;       // results marked as overflowed
  Counter collisions;      // dynamic slot held by another chunk
  Counter preemptions;     // slots taken from this job
  Counter forwarded;       // contributions sent on to the completion host
  Counter sent_up;         // sums sent to a parent, or to be verified
  Counter resent_up;       // sums that the parent asked for again
  Counter probes_up;       // questions to the parent
  Counter recalls;         // to the host, for a result that some child is known to hold
  Counter host_results;    // results that came back
  Counter degraded;        // results among those that lack ranks
  Counter late;            // data of ranks that such a result lacks; the answer is that result
  Counter marked_data;     // contributions and sums that met a queue (rule 15)
  Counter slot_marks;      // chunks marked because slots are scarce
  Counter marked_results;  // chunks whose result carries the mark to the ranks
  Counter cache_hits;
  Counter cache_misses;
  Counter cache_evictions;  // results of this job that made room, for any job's
  std::array<Counter, kEscalationReasons> escalations;  // chunks, by reason
  HoldTimes slot_hold;

  Counter slot_hold_ns_max;  // longest time that a slot was held

  // Adds another shard's figures to these.
  void include(const ShardCounters& other);
};

// Counters of one child of a job in one shard.
struct ChildTotals {
  Counter missed_deadlines;  // chunks that were given up without its data
  Counter timed_arrivals;    // data of an op's first or last chunk here
  Counter lateness_ns;       // of those arrivals, behind the first of the chunk

  void include(const ChildTotals& other) {
    missed_deadlines.add(other.missed_deadlines.get());
    timed_arrivals.add(other.timed_arrivals.get());
    lateness_ns.add(other.lateness_ns.get());
  }
};

// Counters of one job: the sum of its shards, and its membership.
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
  Counter aborts_parent;  // the switch above fell silent, or does not know the epoch
  Counter aborts_host;    // no completion host answered
  Counter aborts_above;   // the switch above sent ABORT
  Counter aborts_below;   // a switch below sent ABORT
  Counter aborts_change;  // the job's configuration changed
  Counter aborts_broken;  // an invariant broke: a defect of the switch or of a completion host
  Counter members;        // gauge: ranks of the running epoch still present
  Counter drains;         // epochs that ended after an op that all ranks finished
  Counter drained_by;     // gauge: id of the switch that wanted the last of them
  Counter drained_at;     // gauge: how many ops that epoch had
  Counter retries;        // epochs in which ranks do again what they lost with another one
  Counter last_pause_ns;  // gauge: how long callers waited when one epoch followed another that way
  Counter pause_ns;       // all of these together
  using Pauses = LogHistogram<20, 16>;  // the first bucket: about 1 ms; the last: above 17 s
  Pauses pauses;
};

inline void ShardCounters::include(const ShardCounters& other) {
  using S = ShardCounters;
  static constexpr std::array kSums = {&S::contributions,    &S::contribution_bytes,
                                       &S::completions,      &S::result_bytes,
                                       &S::duplicates,       &S::stale,
                                       &S::probes,           &S::resends,
                                       &S::results_resent,   &S::pending_replies,
                                       &S::unknown_replies,  &S::saturated,
                                       &S::collisions,       &S::preemptions,
                                       &S::forwarded,        &S::sent_up,
                                       &S::resent_up,        &S::probes_up,
                                       &S::recalls,          &S::host_results,
                                       &S::degraded,         &S::late,
                                       &S::cache_hits,       &S::cache_misses,
                                       &S::cache_evictions,  &S::bytes_in,
                                       &S::bytes_out,        &S::slots_open,
                                       &S::slots_high_water, &S::results_retained,
                                       &S::marked_data,      &S::slot_marks,
                                       &S::marked_results};
  for (const auto counter : kSums) (this->*counter).add((other.*counter).get());
  for (std::size_t r = 0; r < escalations.size(); ++r)
    escalations[r].add(other.escalations[r].get());
  slot_hold.include(other.slot_hold);
  slot_hold_ns_max.raise_to(other.slot_hold_ns_max.get());
}

}  // namespace tributary::aggregator
