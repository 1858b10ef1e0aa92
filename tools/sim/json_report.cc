// The report as JSON.
#include <algorithm>

#include "tools/sim/report.h"

namespace tributary::simtool {
namespace {

Json json_of(const Percentiles& p) {
  return {{"count", p.count},
          {"p50_ns", p.p50.to_ns()},
          {"p90_ns", p.p90.to_ns()},
          {"p99_ns", p.p99.to_ns()},
          {"max_ns", p.max.to_ns()}};
}

// [nanoseconds, share of the values that are not above], at some of the values.
Json curve_of(const std::vector<Duration>& sorted) {
  constexpr std::size_t kMostPoints = 400;
  Json points = Json::array();
  const auto add = [&](std::size_t i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(sorted.size());
    points.push_back({sorted[i].to_ns(), share});
  };
  const std::size_t step = std::max<std::size_t>(1, sorted.size() / kMostPoints);
  for (std::size_t i = 0; i + 1 < sorted.size(); i += step) add(i);
  if (!sorted.empty()) add(sorted.size() - 1);
  return points;
}

Json json_of(const LinkUse& use) {
  return {{"mean_data_bytes", use.mean_data_bytes},
          {"most_data_bytes", use.most_data_bytes},
          {"mean_wire_bytes", use.mean_wire_bytes},
          {"mean_frames", use.mean_frames}};
}

Json json_of(const JobSummary& job) {
  return {{"job", job.id},
          {"workers", job.workers},
          {"payload", job.modelled ? "modelled" : "real"},
          {"ops", job.ops},
          {"bytes_per_rank", job.bytes_per_rank},
          {"op_time", json_of(job.op_time)},
          {"rank_time", json_of(job.rank_time)},
          {"slot_hold", json_of(job.slot_hold)},
          {"rank_time_curve", curve_of(job.rank_times)},
          {"slot_hold_curve", curve_of(job.slot_holds)},
          {"link_up", json_of(job.up)},
          {"link_down", json_of(job.down)},
          {"ring_bytes_each_way", job.ring_bytes},
          {"goodput_bytes_per_second", job.goodput_bytes_per_second},
          {"contributions", job.contributions},
          {"completions", job.completions},
          {"probes", job.probes},
          {"resends", job.resends},
          {"epochs", job.epochs}};
}

}  // namespace

Json json_report(const Summary& s) {
  Json jobs = Json::array();
  for (const JobSummary& job : s.jobs) jobs.push_back(json_of(job));
  return {{"name", s.name},
          {"seed", s.seed},
          {"failure", s.failure ? Json(*s.failure) : Json()},
          {"jobs", jobs},
          {"fairness_jain", s.fairness},
          {"switch_busy_share", s.switch_busy ? Json(*s.switch_busy) : Json()},
          {"most_waiting_frames", s.most_waiting_frames},
          {"sessions_failed", s.sessions_failed},
          {"faults", s.faults},
          {"levels", s.levels},
          {"virtual_ns", s.virtual_time.to_ns()},
          {"events", s.events},
          {"events_per_second", s.events_per_second()},
          {"wall_seconds", s.run_time.wall_seconds},
          {"processor_seconds", s.run_time.processor_seconds},
          {"trace_hash", s.trace_hash}};
}

}  // namespace tributary::simtool
