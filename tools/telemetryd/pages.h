// Pages of the telemetry server over HTTP: /metrics for Prometheus, /healthz, and as JSON /links,
// /flows and /ops; /paths, /decisions and /network where it knows the network, and /history where
// it keeps one.
#pragma once

#include <memory>
#include <string>

#include "control/http/metrics_server.h"
#include "tools/telemetryd/history.h"
#include "tools/telemetryd/path_watch.h"
#include "tools/telemetryd/receiver.h"

namespace tributary::telemetryd {

class ReceiverMetrics : public prometheus::Collectable {
 public:
  // nullptr: no network is known, or no history is kept.
  ReceiverMetrics(const Receiver& receiver, const PathWatch* paths, const History* history)
      : receiver_(receiver), paths_(paths), history_(history) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Receiver& receiver_;
  const PathWatch* paths_;
  const History* history_;
};

// Rows, one a link; ages and latencies in ns. A value that is not known is absent.
std::string links_json(const Receiver& receiver);
// The latest kMostFlowRows flows.
std::string flows_json(const Receiver& receiver);
// Jobs whose ops' ends have been told. `period_ns`: from one end to the next, averaged.
std::string ops_json(const Receiver& receiver);

// nullptr: no network is known, or no history is kept.
control::HttpServer::Pages pages(const Receiver& receiver, const PathWatch* paths,
                                 const History* history);

}  // namespace tributary::telemetryd
