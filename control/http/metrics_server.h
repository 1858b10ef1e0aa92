// A daemon's HTTP endpoint: /metrics for Prometheus, and pages of the daemon's own.
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>

#include "control/http/http_server.h"

namespace tributary::control {

// Serves http://LISTEN/metrics until destroyed.
class MetricsServer {
 public:
  // `option`: what gave the address, for the text of an error. Throws std::runtime_error when the
  // address cannot be bound, and why.
  MetricsServer(const std::string& option, const std::string& listen,
                std::shared_ptr<prometheus::Collectable> source, HttpServer::Pages more = {});

  [[nodiscard]] int port() const { return server_.port(); }  // the one bound, where LISTEN said 0

 private:
  HttpServer server_;
};

}  // namespace tributary::control
