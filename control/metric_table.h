// The per-job counters as metrics: one table of name, meaning and where the value stands.
#pragma once

#include <array>

#include "aggregator/engine.h"

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
};

}  // namespace tributary::control
