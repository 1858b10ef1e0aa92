// What the telemetry server says over HTTP: /metrics for Prometheus, /healthz, and /links and
// /flows as JSON.
#pragma once

#include <memory>
#include <string>

#include "control/metrics/metrics.h"
#include "tools/telemetryd/receiver.h"

namespace tributary::telemetryd {

class ReceiverMetrics : public prometheus::Collectable {
 public:
  explicit ReceiverMetrics(const Receiver& receiver) : receiver_(receiver) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Receiver& receiver_;
};

// Rows, one a link; ages and latencies in ns. A value that is not known is absent.
std::string links_json(const Receiver& receiver);
// The latest kMostFlowRows flows.
std::string flows_json(const Receiver& receiver);

control::HttpServer::Pages pages(const Receiver& receiver);

}  // namespace tributary::telemetryd
