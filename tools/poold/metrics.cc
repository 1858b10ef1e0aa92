#include "tools/poold/metrics.h"

#include <prometheus/metric_family.h>

namespace tributary::poold {
namespace {

struct Value {
  const char* name;
  const char* help;
  bool gauge;
  std::uint64_t value;
};

}  // namespace

std::vector<prometheus::MetricFamily> Metrics::Collect() const {
  const NodeStatus s = server_.status();
  const Value values[] = {
      {"tributary_pool_capacity_bytes", "Memory for records", true, s.capacity_bytes},
      {"tributary_pool_used_bytes", "Memory that records take", true, s.used_bytes},
      {"tributary_pool_waiting_bytes", "Memory of dropped records that leases protect", true,
       s.waiting_bytes},
      {"tributary_pool_records", "Records held", true, s.records},
      {"tributary_pool_own_records", "Records of the manifest that are placed here", true,
       s.own_records},
      {"tributary_pool_pinned_records", "Records that are never evicted", true, s.pinned},
      {"tributary_pool_leases", "Readers", true, s.leases},
      {"tributary_pool_connections", "Connections of readers and operators", true, s.connections},
      {"tributary_pool_fill_running", "1 while the node is being filled", true,
       s.fill.running ? 1u : 0u},
      {"tributary_pool_denied_total", "Greetings that were refused", false, s.denied},
      {"tributary_pool_stored_total", "Records put into memory", false, s.cache.stored},
      {"tributary_pool_recovered_total", "Records found in memory at start", false,
       s.cache.recovered},
      {"tributary_pool_evicted_total", "Records dropped to make room, or on request", false,
       s.cache.evicted},
      {"tributary_pool_refused_total", "Records not taken because the node is full", false,
       s.cache.refused},
      {"tributary_pool_corrupt_total", "Records dropped because their CRC is wrong", false,
       s.cache.corrupt},
  };
  std::vector<prometheus::MetricFamily> out;
  for (const Value& value : values) {
    prometheus::MetricFamily family;
    family.name = value.name;
    family.help = value.help;
    family.type = value.gauge ? prometheus::MetricType::Gauge : prometheus::MetricType::Counter;
    prometheus::ClientMetric metric;
    metric.label = {{"node", server_.node().name}};
    (value.gauge ? metric.gauge.value : metric.counter.value) = static_cast<double>(value.value);
    family.metric.push_back(metric);
    out.push_back(family);
  }
  return out;
}

}  // namespace tributary::poold
