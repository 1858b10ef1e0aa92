// How counters become Prometheus metrics: a family for each name, a sample for each set of labels.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/log_histogram.h"

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
inline MetricFamily& histogram_family(Families& out, const char* name, const char* help) {
  out.push_back({name, help, MetricType::Histogram, {}});
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

// Not "job", which is Prometheus' own label of a target.
inline ClientMetric::Label job_label(std::uint32_t id) {
  return {"job_id", std::to_string(id)};
}

// A job whose data is cut into planes has a series for each of them.
inline Labels job_labels(const config::JobConfig& job) {
  Labels labels{job_label(job.id)};
  if (job.planes > 1) labels.push_back({"plane", std::to_string(job.plane)});
  return labels;
}

inline double number(const Counter& counter) {
  return static_cast<double>(counter.get());
}

// A sample of a histogram family. `sum` is that of the values, whose exported unit is `scale`.
template <unsigned kFirstBit, std::size_t kCount>
ClientMetric histogram_of(Labels labels, const LogHistogram<kFirstBit, kCount>& values,
                          const Counter& sum, double scale) {
  ClientMetric metric;
  metric.label = std::move(labels);
  auto& histogram = metric.histogram;
  histogram.sample_sum = number(sum) * scale;
  for (std::size_t b = 0; b < kCount; ++b) {
    histogram.sample_count += values.in(b);
    const bool last = b + 1 == kCount;
    histogram.bucket.push_back(
        {histogram.sample_count, last ? std::numeric_limits<double>::infinity()
                                      : static_cast<double>(values.bound(b)) * scale});
  }
  return metric;
}

}  // namespace tributary::control
