#include "control/metrics/names_metrics.h"

#include <array>
#include <string>

namespace tributary::control {
namespace {

using aggregator::NameCounters;
struct NameMetric {
  const char* name;
  const char* help;
  Counter NameCounters::*counter;
};
constexpr std::array kNameMetrics = {
    NameMetric{"tributary_names_puts_total", "Segments put by name, repetitions included",
               &NameCounters::puts},
    NameMetric{"tributary_names_hits_total", "Gets that the cache answered", &NameCounters::hits},
    NameMetric{"tributary_names_misses_total", "Gets that the cache did not answer",
               &NameCounters::misses},
    NameMetric{"tributary_names_forwarded_total", "Requests sent on for names that the cache lacks",
               &NameCounters::forwarded},
    NameMetric{"tributary_names_answered_total", "Askers who got an answer from elsewhere",
               &NameCounters::answered},
    NameMetric{"tributary_names_unanswered_total", "Names asked for that no answer came for",
               &NameCounters::unanswered},
    NameMetric{"tributary_names_refused_total", "Puts and gets refused here",
               &NameCounters::refused},
    NameMetric{"tributary_names_expired_total", "Names that have expired", &NameCounters::expired},
};
struct StoreMetric {
  const char* name;
  const char* help;
  bool gauge;
  Counter aggregator::NameStore::Counters::*counter;
};
constexpr std::array kStoreMetrics = {
    StoreMetric{"tributary_names_entries", "Names known", true,
                &aggregator::NameStore::Counters::names},
    StoreMetric{"tributary_names_cached_segments", "Segments in the cache", true,
                &aggregator::NameStore::Counters::segments},
    StoreMetric{"tributary_names_cached_bytes", "Bytes of these segments", true,
                &aggregator::NameStore::Counters::bytes},
    StoreMetric{"tributary_names_evicted_total", "Segments that gave way to others", false,
                &aggregator::NameStore::Counters::evicted},
};

template <typename F>
void each_loop_with_names(dataplane::Switch& sw, F f) {
  for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore)
    if (const auto& loop = sw.packet_loops()[lcore]; !loop.is_late() && loop.names().store())
      f(std::to_string(lcore), loop.names());
}

}  // namespace

void collect_names(Families& out, dataplane::Switch& sw) {
  for (const NameMetric& metric : kNameMetrics) {
    auto& to = family(out, metric.name, metric.help, false);
    each_loop_with_names(sw, [&](const std::string& lcore, const aggregator::NameEngine& names) {
      for (const auto& job : names.jobs().all())
        sample(to, {{"lcore", lcore}, job_label(job.id)}, number(job.counters.*metric.counter));
    });
  }
  for (const StoreMetric& metric : kStoreMetrics) {
    auto& to = family(out, metric.name, metric.help, metric.gauge);
    each_loop_with_names(sw, [&](const std::string& lcore, const aggregator::NameEngine& names) {
      sample(to, {{"lcore", lcore}}, number(names.store()->counters().*metric.counter));
    });
  }
}

}  // namespace tributary::control
