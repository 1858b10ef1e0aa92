#include "control/metrics/straggler_metrics.h"

#include <array>
#include <string>
#include <vector>

#include "aggregator/chunk/child_map.h"

namespace tributary::control {
namespace {

using aggregator::ChildTotals;
struct ChildMetric {
  const char* name;
  const char* help;
  double scale;  // exported value per counted unit
  Counter ChildTotals::*counter;
};
constexpr std::array kChildMetrics = {
    ChildMetric{"tributary_child_missed_deadlines_total",
                "Chunks that were given up without the child's data", 1,
                &ChildTotals::missed_deadlines},
    ChildMetric{"tributary_child_timed_arrivals_total",
                "Arrivals of first or last chunks, of ops 50 us apart and of every seventh", 1,
                &ChildTotals::timed_arrivals},
    ChildMetric{"tributary_child_lateness_seconds_total",
                "Time behind the first arrival of the chunk, summed over the timed arrivals", 1e-9,
                &ChildTotals::lateness_ns},
};

}  // namespace

void collect_stragglers(Families& out, dataplane::Switch& sw) {
  const auto jobs = sw.jobs();
  std::vector<aggregator::ChildMap> children;
  for (const auto& job : jobs) children.emplace_back(job.config());
  for (const auto& metric : kChildMetrics) {
    auto& to = family(out, metric.name, metric.help, false);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      for (std::uint32_t c = 0; c < children[i].count(); ++c) {
        const auto& child = children[i][c];
        Labels labels = job_labels(jobs[i].config());
        labels.push_back(
            {"child", (child.is_switch ? "switch-" : "rank-") + std::to_string(child.id)});
        sample(
            to, std::move(labels),
            number(jobs[i].engine().child_totals(jobs[i].index, c).*metric.counter) * metric.scale);
      }
  }
}

}  // namespace tributary::control
