// How counters become Prometheus metrics: a family for each name, a sample for each set of labels.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "core/counter.h"

namespace tributary::control {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using Families = std::vector<MetricFamily>;

// The reference lives as long as `out` does not grow beyond what it has reserved.
inline MetricFamily& family(Families& out, const char* name, const char* help, bool gauge) {
  out.push_back({name, help, gauge ? MetricType::Gauge : MetricType::Counter, {}});
  return out.back();
}

inline void sample(MetricFamily& to, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (to.type == MetricType::Gauge)
    metric.gauge.value = value;
  else
    metric.counter.value = value;
  to.metric.push_back(std::move(metric));
}

inline double number(const Counter& counter) {
  return static_cast<double>(counter.get());
}

}  // namespace tributary::control
