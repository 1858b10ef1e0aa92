// A node's metrics for Prometheus.
#pragma once

#include <prometheus/collectable.h>

#include <vector>

#include "tools/poold/node_server.h"

namespace tributary::poold {

class Metrics : public prometheus::Collectable {
 public:
  explicit Metrics(const NodeServer& server) : server_(server) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const NodeServer& server_;
};

}  // namespace tributary::poold
