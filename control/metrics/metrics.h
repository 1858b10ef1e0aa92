// The switch's metrics for Prometheus: counters and gauges, read where they stand when a scrape
// comes.
//
// Skips loops that are late for a change of the configuration: until they have taken it, there are
// no series of their jobs, nor sums over all loops, which must not go down. tributary_loop_late
// says so.
//
// Everything exported is listed in docs/operating/metrics.md; a test compares the two.
#pragma once

#include <prometheus/collectable.h>

#include "dataplane/switch/switch.h"

namespace tributary::control {

class Metrics : public prometheus::Collectable {
 public:
  explicit Metrics(dataplane::Switch& sw) : switch_(sw) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  dataplane::Switch& switch_;
};

}  // namespace tributary::control
