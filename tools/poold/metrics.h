// A node's metrics for Prometheus.
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>

#include "tools/poold/node_server.h"

namespace prometheus {
class Exposer;
}

namespace tributary::poold {

class Metrics : public prometheus::Collectable {
 public:
  explicit Metrics(const NodeServer& server) : server_(server) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const NodeServer& server_;
};

// Serves http://LISTEN/metrics until destroyed.
class MetricsServer {
 public:
  // Throws std::runtime_error when the address cannot be bound.
  MetricsServer(const std::string& listen, const NodeServer& server);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

 private:
  std::shared_ptr<Metrics> metrics_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace tributary::poold
