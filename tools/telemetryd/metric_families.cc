#include "tools/telemetryd/metric_families.h"

#include <string>

namespace tributary::telemetryd {
namespace {

using control::Labels;

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

Labels labels_of(const telemetry::LinkKey& key) {
  return {{"node", std::to_string(key.node)}, {"port", std::to_string(key.port)}};
}

Labels labels_of(const PathWatch::Path& path) {
  return {{"from", path.from}, {"to", path.to}, {"goal", name_of(path.goal)}};
}

}  // namespace

void add_ports(control::Families& out, const telemetry::RecordTable& table, Instant now) {
  auto& reports = control::family(out, "tributary_telemetry_hop_reports_total",
                                  "Reports of an egress port of a node", false);
  auto& dropped = control::family(out, "tributary_telemetry_hop_dropped_total",
                                  "Packets that reports say were dropped there", false);
  auto& utilisation = control::family(out, "tributary_telemetry_utilisation_ratio",
                                      "Share of an egress port's capacity in use", true);
  auto& queue = control::family(out, "tributary_telemetry_queue_frames",
                                "Frames that wait for an egress port", true);
  for (const auto& [key, link] : table.links()) {
    control::sample(reports, labels_of(key), number(link.reports));
    control::sample(dropped, labels_of(key), number(link.dropped));
    if (now - link.sampled > PathWatch::kFresh) continue;
    if (link.utilisation_ppm != telemetry::kUnknown32)
      control::sample(utilisation, labels_of(key), number(link.utilisation_ppm) * 1e-6);
    if (link.queue_occupancy != telemetry::kUnknown24)
      control::sample(queue, labels_of(key), number(link.queue_occupancy));
  }
}

void add_ops(control::Families& out, const telemetry::OpTable& table) {
  auto& ended = control::family(out, "tributary_telemetry_ops_total",
                                "Ops of a job that have ended, as its switch tells", false);
  auto& period = control::family(out, "tributary_telemetry_op_period_seconds",
                                 "From one end of a job's ops to the next, averaged", true);
  for (const auto& [id, job] : table.jobs()) {
    const Labels labels = {{"job", std::to_string(id)}};
    control::sample(ended, labels, number(job.ended));
    if (job.period_ewma_ns != 0) control::sample(period, labels, number(job.period_ewma_ns) * 1e-9);
  }
}

void add_paths(control::Families& out, const PathWatch& paths) {
  auto& moves = control::family(out, "tributary_telemetry_path_moves_total",
                                "Moves of a path to a better one", false);
  auto& latency = control::family(out, "tributary_telemetry_path_latency_seconds",
                                  "Latency of the chosen path, if all of it is known", true);
  for (const PathWatch::Path& path : paths.paths()) {
    control::sample(moves, labels_of(path), number(path.moves));
    const telemetry::Candidate& chosen = path.decision.chosen;
    if (!chosen.links.empty() && chosen.figures.latency < telemetry::kUnknownLatency)
      control::sample(latency, labels_of(path), chosen.figures.latency.to_seconds());
  }
}

void add_history(control::Families& out, const HistoryCounters& counters) {
  const auto add = [&out](const char* name, const char* help, std::uint64_t value) {
    control::sample(control::family(out, name, help, false), {}, number(value));
  };
  add("tributary_telemetry_history_rows_total", "Rows of egress ports written to the history",
      counters.rows);
  add("tributary_telemetry_history_decisions_total", "Decisions written to the history",
      counters.decisions);
  add("tributary_telemetry_history_missed_turns_total",
      "Turns of the history that an earlier one took too long for", counters.missed_turns);
  add("tributary_telemetry_history_failed_turns_total",
      "Turns whose rows could not be written, as on a full disk", counters.failed_turns);
  add("tributary_telemetry_history_lost_decisions_total", "Decisions that were not written",
      counters.lost_decisions);
}

}  // namespace tributary::telemetryd
