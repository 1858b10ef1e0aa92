#include "control/metrics/completion_metrics.h"

#include <array>

#include "completion/pieces/counters.h"
#include "config/change/change.h"

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
    CompletionMetric{"tributary_completion_combined_early_total",
                     "Pieces added to a sum on arrival", false, 1,
                     &CompletionCounters::combined_early},
    CompletionMetric{"tributary_completion_marks_total", "Chunks announced as escalated", false, 1,
                     &CompletionCounters::marks},
    CompletionMetric{"tributary_completion_piece_bytes_total", "Payload bytes of held pieces",
                     false, 1, &CompletionCounters::piece_bytes},
    CompletionMetric{"tributary_completion_duplicates_total", "Pieces whose ranks were all covered",
                     false, 1, &CompletionCounters::duplicates},
    CompletionMetric{"tributary_completion_superseded_total",
                     "Held pieces that a larger aggregate replaced", false, 1,
                     &CompletionCounters::superseded},
    CompletionMetric{"tributary_completion_overlaps_dropped_total",
                     "Aggregates that overlapped a better one", false, 1,
                     &CompletionCounters::overlaps_dropped},
    CompletionMetric{"tributary_completion_degraded_total", "Results that lack ranks", false, 1,
                     &CompletionCounters::degraded},
    CompletionMetric{"tributary_completion_left_out_total",
                     "Ranks that results lack, each chunk by itself", false, 1,
                     &CompletionCounters::left_out},
    CompletionMetric{"tributary_completion_late_total",
                     "Pieces of ranks that came after the result without them", false, 1,
                     &CompletionCounters::late},
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

using completion::HostCounters;
struct HostMetric {
  const char* name;
  const char* help;
  Counter HostCounters::*counter;
};

inline constexpr std::array kHostMetrics = {
    HostMetric{"tributary_completion_host_messages_total", "Messages handed to a host",
               &HostCounters::sent},
    HostMetric{"tributary_completion_host_results_total", "Results accepted from one",
               &HostCounters::results},
    HostMetric{"tributary_completion_host_unserved_total", "Messages for which there was no host",
               &HostCounters::unserved},
    HostMetric{"tributary_completion_host_takeovers_total", "Changes of host while an epoch ran",
               &HostCounters::takeovers},
    HostMetric{"tributary_completion_host_restarts_total", "Hosts that came back with nothing",
               &HostCounters::restarts},
    HostMetric{"tributary_completion_host_refusals_total", "Hosts that refused the job",
               &HostCounters::refusals},
    HostMetric{"tributary_completion_host_stale_terms_total", "Answers of an earlier term",
               &HostCounters::stale_terms},
    HostMetric{"tributary_completion_host_wrong_senders_total",
               "Packets from elsewhere than the host", &HostCounters::wrong_senders},
    HostMetric{"tributary_completion_host_announced_total",
               "Chunks announced to a host that took over", &HostCounters::announced},
    HostMetric{"tributary_completion_host_placements_total", "Placements that a caller asked for",
               &HostCounters::placements},
};

// Figures of the engine inside a switch.
void add_figures(std::vector<EngineFigures>& figures, const completion::Engine& engine,
                 const config::SwitchConfig& config) {
  for (std::size_t i = 0; i < engine.job_count(); ++i) {
    const auto& limits = engine.limits(i);
    const config::JobConfig* const job = config::find_job(config, limits.id);
    Labels labels{job_label(limits.id)};
    if (job != nullptr && job->planes > 1)
      labels.push_back({"plane", std::to_string(limits.plane)});
    figures.push_back({std::move(labels), &engine.counters(i), limits.bytes});
  }
}

void collect_remote(Families& out, const dataplane::PacketLoops& loops) {
  for (const auto& metric : kHostMetrics) {
    auto& to = family(out, metric.name, metric.help, false);
    for (const auto& packet_loop : loops) {
      const completion::RemoteHosts* const hosts =
          packet_loop->is_late() ? nullptr : packet_loop->remote_hosts();
      for (std::size_t i = 0; hosts != nullptr && i < hosts->job_count(); ++i)
        sample(to, {job_label(hosts->job_id(i))}, number(hosts->counters(i).*metric.counter));
    }
  }
}

}  // namespace

void collect_engines(Families& out, std::span<const EngineFigures> engines,
                     std::optional<std::uint64_t> memory_bytes) {
  for (const auto& metric : kCompletionMetrics) {
    auto& to = family(out, metric.name, metric.help, metric.gauge);
    for (const EngineFigures& engine : engines)
      sample(to, engine.labels, number(engine.counters->*metric.counter) * metric.scale);
  }
  auto& memory =
      family(out, "tributary_completion_memory_bytes", "Reserved, tables included", true);
  if (memory_bytes) sample(memory, {}, static_cast<double>(*memory_bytes));
  auto& limit = family(out, "tributary_completion_bytes_limit", "Most that may be held", true);
  for (const EngineFigures& engine : engines)
    sample(limit, engine.labels, static_cast<double>(engine.bytes_limit));
  auto& completed =
      family(out, "tributary_completion_chunks_total", "Chunks completed, by why they came", false);
  for (const EngineFigures& engine : engines)
    for (std::size_t r = 0; r < completion::kEscalationReasons; ++r) {
      Labels with_reason = engine.labels;
      with_reason.push_back({"reason", wire::name_of(static_cast<wire::Reason>(r))});
      sample(completed, std::move(with_reason), number(engine.counters->completed[r]));
    }
}

void add_figures(std::vector<EngineFigures>& figures, const completion::Server& server) {
  for (std::size_t seat = 0; seat < server.seat_count(); ++seat) {
    const auto& limits = server.engine(seat).limits(0);
    figures.push_back({{job_label(limits.id), {"shard", std::to_string(server.shard_of(seat))}},
                       &server.engine(seat).counters(0),
                       limits.bytes});
  }
}

void collect_completion(Families& out, dataplane::Switch& sw) {
  std::vector<EngineFigures> figures;
  std::uint64_t memory = 0;
  bool whole = true;
  for (const auto& packet_loop : sw.packet_loops()) {
    if (packet_loop->is_late()) {
      whole = false;
    } else {
      add_figures(figures, packet_loop->completion(), sw.config());
      memory += packet_loop->completion().memory_bytes();
    }
    const auto* const hosted = packet_loop->is_late() ? nullptr : packet_loop->hosted();
    for (std::size_t job = 0; hosted != nullptr && job < hosted->job_count(); ++job) {
      add_figures(figures, hosted->server(job));
      memory += hosted->server(job).memory_bytes();
    }
  }
  collect_engines(out, figures, whole ? std::optional(memory) : std::nullopt);
  collect_remote(out, sw.packet_loops());
}

}  // namespace tributary::control
