// The per-job counters as metrics: one table of name, meaning and where the value stands.
#pragma once

#include <array>

#include "aggregator/engine/engine.h"

namespace tributary::control {

struct JobMetric {
  const char* name;
  const char* help;
  bool gauge;
  double scale;  // exported value per counted unit
  Counter aggregator::JobCounters::*counter;
};

using aggregator::JobCounters;
inline constexpr std::array kJobMetrics = {
    JobMetric{"tributary_job_contributions_total", "Contributions counted into a sum", false, 1,
              &JobCounters::contributions},
    JobMetric{"tributary_job_contribution_bytes_total", "Payload of those", false, 1,
              &JobCounters::contribution_bytes},
    JobMetric{"tributary_job_completions_total", "Chunks completed", false, 1,
              &JobCounters::completions},
    JobMetric{"tributary_job_result_bytes_total", "Payload of results, once per chunk", false, 1,
              &JobCounters::result_bytes},
    JobMetric{"tributary_job_duplicates_total", "Contributions that were counted already", false, 1,
              &JobCounters::duplicates},
    JobMetric{"tributary_job_probes_total", "Probes received", false, 1, &JobCounters::probes},
    JobMetric{"tributary_job_resends_total", "Contributions sent again", false, 1,
              &JobCounters::resends},
    JobMetric{"tributary_job_results_resent_total", "Answers from retained results", false, 1,
              &JobCounters::results_resent},
    JobMetric{"tributary_job_pending_replies_total", "PENDING sent to probes", false, 1,
              &JobCounters::pending_replies},
    JobMetric{"tributary_job_unknown_replies_total", "UNKNOWN sent to probes", false, 1,
              &JobCounters::unknown_replies},
    JobMetric{"tributary_job_nacks_total", "Refusals", false, 1, &JobCounters::nacks},
    JobMetric{"tributary_job_joins_total", "JOIN packets", false, 1, &JobCounters::joins},
    JobMetric{"tributary_job_epochs_total", "Epochs started", false, 1, &JobCounters::epochs},
    JobMetric{"tributary_job_drains_total", "Epochs that ended after an op that all ranks finished",
              false, 1, &JobCounters::drains},
    JobMetric{"tributary_job_retries_total",
              "Epochs in which ranks do again what they lost with another one", false, 1,
              &JobCounters::retries},
    JobMetric{"tributary_job_last_pause_seconds",
              "Time that ranks waited for the latest epoch that follows another one", true, 1e-9,
              &JobCounters::last_pause_ns},
    JobMetric{"tributary_job_slots_open", "Chunks being summed", true, 1, &JobCounters::slots_open},
    JobMetric{"tributary_job_slots_high_water", "Most chunks being summed at once", true, 1,
              &JobCounters::slots_high_water},
    JobMetric{"tributary_job_results_retained", "Results kept until acknowledged", true, 1,
              &JobCounters::results_retained},
    JobMetric{"tributary_job_members", "Ranks present in the running epoch", true, 1,
              &JobCounters::members},
    JobMetric{"tributary_job_slot_hold_seconds_max",
              "Longest time from a chunk's first contribution to its end", true, 1e-9,
              &JobCounters::slot_hold_ns_max},
};

// A metric of a job in one shard; exported with the label `shard`, too.
struct ShardMetric {
  const char* name;
  const char* help;
  bool gauge;
  Counter aggregator::ShardCounters::*counter;
};
using aggregator::ShardCounters;
inline constexpr std::array kShardMetrics = {
    ShardMetric{"tributary_shard_contributions_total", "Contributions counted into a sum", false,
                &ShardCounters::contributions},
    ShardMetric{"tributary_shard_completions_total", "Chunks completed", false,
                &ShardCounters::completions},
    ShardMetric{"tributary_shard_duplicates_total", "Contributions that were counted already",
                false, &ShardCounters::duplicates},
    ShardMetric{"tributary_shard_stale_total", "Packets of chunks finished long ago", false,
                &ShardCounters::stale},
    ShardMetric{"tributary_shard_collisions_total", "Chunks that found their slot taken", false,
                &ShardCounters::collisions},
    ShardMetric{"tributary_shard_preemptions_total", "Slots taken from the job", false,
                &ShardCounters::preemptions},
    ShardMetric{"tributary_shard_forwarded_total", "Contributions sent to the completion host",
                false, &ShardCounters::forwarded},
    ShardMetric{"tributary_shard_sent_up_total", "Sums sent to a parent or to be verified", false,
                &ShardCounters::sent_up},
    ShardMetric{"tributary_shard_resent_up_total", "Sums that the parent asked for again", false,
                &ShardCounters::resent_up},
    ShardMetric{"tributary_shard_probes_up_total", "Questions to the parent", false,
                &ShardCounters::probes_up},
    ShardMetric{"tributary_shard_recalls_total",
                "Questions to the host for a result that some child holds already", false,
                &ShardCounters::recalls},
    ShardMetric{"tributary_shard_host_results_total", "Results that came back", false,
                &ShardCounters::host_results},
    ShardMetric{"tributary_shard_degraded_results_total", "Returned results that lack ranks", false,
                &ShardCounters::degraded},
    ShardMetric{"tributary_shard_late_total", "Late data that was answered with such a result",
                false, &ShardCounters::late},
    ShardMetric{"tributary_shard_overflows_total", "Results marked as overflowed", false,
                &ShardCounters::saturated},
    ShardMetric{"tributary_shard_marked_data_total",
                "Contributions and sums that met a queue on their way", false,
                &ShardCounters::marked_data},
    ShardMetric{"tributary_shard_slot_marks_total", "Chunks marked because slots are scarce", false,
                &ShardCounters::slot_marks},
    ShardMetric{"tributary_shard_marked_results_total", "Results that tell the ranks of congestion",
                false, &ShardCounters::marked_results},
    ShardMetric{"tributary_shard_cache_hits_total", "Acknowledged results found when asked for",
                false, &ShardCounters::cache_hits},
    ShardMetric{"tributary_shard_cache_misses_total",
                "Acknowledged results that were gone when asked for", false,
                &ShardCounters::cache_misses},
    ShardMetric{"tributary_shard_cache_evictions_total",
                "Results of the job that made room for newer ones, which may be another job's",
                false, &ShardCounters::cache_evictions},
    ShardMetric{"tributary_shard_bytes_in_total", "Payload of contributions", false,
                &ShardCounters::bytes_in},
    ShardMetric{"tributary_shard_bytes_out_total", "Payload of messages, once each", false,
                &ShardCounters::bytes_out},
    ShardMetric{"tributary_shard_slots_open", "Slots in use", true, &ShardCounters::slots_open},
    ShardMetric{"tributary_shard_slots_high_water", "Most slots in use at once", true,
                &ShardCounters::slots_high_water},
};

// Exported as tributary_job_aborts_total with this reason.
struct AbortMetric {
  const char* reason;
  Counter aggregator::JobCounters::*counter;
};
inline constexpr std::array kAbortMetrics = {
    AbortMetric{"deadline", &JobCounters::aborts_deadline},
    AbortMetric{"lease-expired", &JobCounters::aborts_lease},
    AbortMetric{"rank-left", &JobCounters::aborts_left},
    AbortMetric{"rank-restarted", &JobCounters::aborts_restart},
    AbortMetric{"op-mismatch", &JobCounters::aborts_mismatch},
    AbortMetric{"shutdown", &JobCounters::aborts_shutdown},
    AbortMetric{"parent-lost", &JobCounters::aborts_parent},
    AbortMetric{"host-lost", &JobCounters::aborts_host},
    AbortMetric{"configuration-changed", &JobCounters::aborts_change},
    AbortMetric{"broken-invariant", &JobCounters::aborts_broken},
    AbortMetric{"switch-above", &JobCounters::aborts_above},
    AbortMetric{"switch-below", &JobCounters::aborts_below},
};

}  // namespace tributary::control
