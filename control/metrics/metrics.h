// The Prometheus endpoint: counters and gauges, read where they stand when a scrape comes.
//
// Skips loops that are late for a change of the configuration: until they have taken it, there are
// no series of their jobs, nor sums over all loops, which must not go down. tributary_loop_late
// says so.
//
// Everything exported is listed in docs/operating/metrics.md; a test compares the two.
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>

#include "control/metrics/http_server.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

class Metrics : public prometheus::Collectable {
 public:
  explicit Metrics(dataplane::Switch& sw) : switch_(sw) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  dataplane::Switch& switch_;
};

// Serves http://LISTEN/metrics until destroyed.
class MetricsServer {
 public:
  // Throws std::runtime_error when the address cannot be bound, and why.
  MetricsServer(const std::string& listen, std::shared_ptr<prometheus::Collectable> source,
                HttpServer::Pages more = {});
  // With /healthz and /readyz (control/metrics/health.h).
  MetricsServer(const std::string& listen, dataplane::Switch& sw);

  [[nodiscard]] int port() const { return server_.port(); }  // the one bound, where LISTEN said 0

 private:
  HttpServer server_;
};

}  // namespace tributary::control
