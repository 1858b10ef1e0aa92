#include "tools/sim/summary.h"

#include <algorithm>
#include <map>

namespace tributary::simtool {
namespace {

LinkUse use_of(const sim::Direction& direction, std::uint32_t workers) {
  const auto mean = [&](std::uint64_t sum) {
    return static_cast<double>(sum) / static_cast<double>(workers);
  };
  return {mean(direction.all.data_bytes), direction.most.data_bytes, mean(direction.all.wire_bytes),
          mean(direction.all.frames)};
}

JobSummary summarize_job(sim::JobMeasurements& m) {
  JobSummary s;
  s.id = m.id;
  s.workers = m.workers;
  s.modelled = m.modelled;
  s.ops = m.ops;
  s.bytes_per_rank = m.bytes_per_rank;
  s.op_time = percentiles_of(m.op_times);
  s.rank_time = percentiles_of(m.rank_times);
  s.slot_hold = percentiles_of(m.slot_holds);
  const double seconds = m.active().to_seconds();
  if (seconds > 0) s.goodput_bytes_per_second = static_cast<double>(m.bytes_per_rank) / seconds;
  s.up = use_of(m.up, m.workers);
  s.down = use_of(m.down, m.workers);
  s.ring_bytes = 2.0 * (m.workers - 1) / m.workers * static_cast<double>(m.bytes_per_rank);
  s.contributions = m.contributions;
  s.completions = m.completions;
  s.probes = m.probes;
  s.resends = m.resends;
  s.epochs = m.epochs;
  s.rank_times = std::move(m.rank_times);
  s.slot_holds = std::move(m.slot_holds);
  return s;
}

// Depth of the deepest branch.
std::uint32_t levels_of(const sim::Scenario& scenario) {
  if (scenario.fat_tree.levels > 0) return scenario.fat_tree.levels;
  std::map<std::string, std::uint32_t> levels;
  std::uint32_t most = 1;
  for (const sim::TreeSwitch& sw : scenario.switches)
    most = std::max(most, levels[sw.name] = sw.parent.empty() ? 1 : levels[sw.parent] + 1);
  return most;
}

}  // namespace

bool Summary::modelled() const {
  return std::any_of(jobs.begin(), jobs.end(), [](const JobSummary& job) { return job.modelled; });
}

Percentiles percentiles_of(std::vector<Duration>& values) {
  std::sort(values.begin(), values.end());
  return {values.size(), sim::percentile(values, 50), sim::percentile(values, 90),
          sim::percentile(values, 99), sim::percentile(values, 100)};
}

Summary summarize(const sim::Scenario& scenario, const sim::Outcome& outcome,
                  sim::Measurements measured, const RunTime& run_time) {
  Summary s;
  s.name = scenario.name;
  s.seed = scenario.seed;
  s.levels = levels_of(scenario);
  s.failure = outcome.failure;
  std::vector<double> goodputs;
  for (sim::JobMeasurements& m : measured.jobs) {
    s.jobs.push_back(summarize_job(m));
    goodputs.push_back(s.jobs.back().goodput_bytes_per_second);
  }
  s.fairness = sim::jain_index(goodputs);
  if (measured.switch_modelled && measured.active > Duration())
    s.switch_busy = measured.switch_busy.to_seconds() / measured.active.to_seconds();
  s.most_waiting_frames = measured.most_waiting;
  s.sessions_failed = outcome.sessions_failed;
  s.faults = outcome.reach.fault_total();
  s.virtual_time = outcome.ended_at - Instant();
  s.events = outcome.events;
  s.trace_hash = outcome.trace_hash;
  s.run_time = run_time;
  return s;
}

}  // namespace tributary::simtool
