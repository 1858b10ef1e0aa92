// The manager's HTTP endpoint: its metrics for Prometheus, whether it is well, and its page.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "control/http/metrics_server.h"
#include "manager/service/cluster.h"
#include "manager/service/pod_cluster.h"

namespace tributary::managerd {

// Counts events by kind; any thread.
class Metrics {
 public:
  static constexpr std::array kKinds = {"queued",    "admitted", "running", "refused",  "expired",
                                        "cancelled", "switch",   "store",   "straggler"};
  void count(const manager::Event& event);
  [[nodiscard]] std::uint64_t of(std::size_t kind) const { return counts_[kind]; }

 private:
  std::array<std::atomic<std::uint64_t>, kKinds.size()> counts_{};
};

// /metrics, /healthz: 200 while the manager decides, 503 says why it does not, and pages.h.
class MetricsServer {
 public:
  MetricsServer(const std::string& listen, const manager::Cluster& cluster,
                const manager::PodCluster& pods, const Metrics& counted);
  [[nodiscard]] int port() const { return server_.port(); }

 private:
  control::MetricsServer server_;
};

// The same of a manager that follows another one, whose page is its health alone; `health` is any
// thread's to call.
class FollowerMetrics {
 public:
  FollowerMetrics(const std::string& listen, const std::function<control::HttpPage()>& health);
  [[nodiscard]] int port() const { return server_.port(); }

 private:
  control::MetricsServer server_;
};

}  // namespace tributary::managerd
