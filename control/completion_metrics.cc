#include "control/completion_metrics.h"

#include <array>

#include "completion/counters.h"

namespace tributary::control {
namespace {

using CompletionCounters = completion::JobCounters;
struct CompletionMetric {
  const char* name;
  const char* help;
  bool gauge;
  double scale;  // exported value per counted unit
  Counter CompletionCounters::*counter;
};

inline constexpr std::array kCompletionMetrics = {
    CompletionMetric{"tributary_completion_singles_total", "Contributions held", false, 1,
                     &CompletionCounters::singles},
    CompletionMetric{"tributary_completion_aggregates_total", "Aggregates held", false, 1,
                     &CompletionCounters::aggregates},
    CompletionMetric{"tributary_completion_marks_total", "Chunks announced as escalated", false, 1,
                     &CompletionCounters::marks},
    CompletionMetric{"tributary_completion_piece_bytes_total", "Payload of what was held", false, 1,
                     &CompletionCounters::piece_bytes},
    CompletionMetric{"tributary_completion_duplicates_total", "Pieces whose ranks were all covered",
                     false, 1, &CompletionCounters::duplicates},
    CompletionMetric{"tributary_completion_superseded_total",
                     "Held pieces that a larger aggregate replaced", false, 1,
                     &CompletionCounters::superseded},
    CompletionMetric{"tributary_completion_overlaps_dropped_total",
                     "Aggregates that overlapped a better one", false, 1,
                     &CompletionCounters::overlaps_dropped},
    CompletionMetric{"tributary_completion_rerequests_total", "Ranks asked for what was dropped",
                     false, 1, &CompletionCounters::rerequests},
    CompletionMetric{"tributary_completion_refused_full_total", "Pieces refused for lack of memory",
                     false, 1, &CompletionCounters::refused_full},
    CompletionMetric{"tributary_completion_given_up_total", "Chunks given up for earlier ones",
                     false, 1, &CompletionCounters::given_up},
    CompletionMetric{"tributary_completion_stale_total",
                     "Pieces of another epoch, attempt or host term, or of a finished chunk", false,
                     1, &CompletionCounters::stale},
    CompletionMetric{"tributary_completion_invalid_total", "Pieces that contradict themselves",
                     false, 1, &CompletionCounters::invalid},
    CompletionMetric{"tributary_completion_overflows_total", "Results marked as overflowed", false,
                     1, &CompletionCounters::overflows},
    CompletionMetric{"tributary_completion_float_retries_total",
                     "Chunks asked for again as floating point", false, 1,
                     &CompletionCounters::float_retries},
    CompletionMetric{"tributary_completion_probes_total", "Probes answered", false, 1,
                     &CompletionCounters::probes},
    CompletionMetric{"tributary_completion_results_repeated_total", "Results given again", false, 1,
                     &CompletionCounters::results_repeated},
    CompletionMetric{"tributary_completion_pending_replies_total", "PENDING sent to probes", false,
                     1, &CompletionCounters::pending_replies},
    CompletionMetric{"tributary_completion_unknown_replies_total", "UNKNOWN sent to probes", false,
                     1, &CompletionCounters::unknown_replies},
    CompletionMetric{"tributary_completion_chunks_open", "Chunks that wait for pieces", true, 1,
                     &CompletionCounters::chunks_open},
    CompletionMetric{"tributary_completion_bytes_held", "Payload buffers in use", true, 1,
                     &CompletionCounters::bytes_held},
    CompletionMetric{"tributary_completion_bytes_high_water", "Most payload buffers in use at once",
                     true, 1, &CompletionCounters::bytes_high_water},
    CompletionMetric{"tributary_completion_latency_seconds_total",
                     "From first piece to result, all chunks", false, 1e-9,
                     &CompletionCounters::latency_ns_total},
    CompletionMetric{"tributary_completion_latency_seconds_max",
                     "Longest from first piece to result", true, 1e-9,
                     &CompletionCounters::latency_ns_max},
};

}  // namespace

void collect_completion(Families& out, dataplane::Switch& sw) {
  const auto& engine = sw.worker().completion();
  const auto labels = [&](std::size_t i) {
    return Labels{{"job", std::to_string(engine.limits(i).id)}};
  };
  for (const auto& metric : kCompletionMetrics) {
    auto& to = family(out, metric.name, metric.help, metric.gauge);
    for (std::size_t i = 0; i < engine.job_count(); ++i)
      sample(to, labels(i), number(engine.counters(i).*metric.counter) * metric.scale);
  }
  sample(family(out, "tributary_completion_memory_bytes", "Reserved, tables included", true), {},
         static_cast<double>(engine.memory_bytes()));
  auto& limit = family(out, "tributary_completion_bytes_limit", "Most that may be held", true);
  auto& completed =
      family(out, "tributary_completion_chunks_total", "Chunks completed, by why they came", false);
  for (std::size_t i = 0; i < engine.job_count(); ++i) {
    sample(limit, labels(i), static_cast<double>(engine.limits(i).bytes));
    for (std::size_t r = 0; r < completion::kEscalationReasons; ++r) {
      Labels with_reason = labels(i);
      with_reason.push_back({"reason", wire::name_of(static_cast<wire::Reason>(r))});
      sample(completed, std::move(with_reason), number(engine.counters(i).completed[r]));
    }
  }
}

}  // namespace tributary::control
