// A running switch: pool, ports, the worker lcore and the link monitor, in the order in which
// they live and die. One per process, after Eal.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "config/change.h"
#include "dataplane/frame_pool.h"
#include "dataplane/link_monitor.h"
#include "dataplane/port.h"
#include "dataplane/worker.h"

namespace tributary::dataplane {

class Switch {
 public:
  // Opens the ports and starts the loop on lcore kWorkerLcore. `report` gets one line per event
  // from control threads. Throws std::runtime_error.
  Switch(const config::SwitchConfig& config, LinkMonitor::Report report);
  // stop(), then closes the ports.
  ~Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  // Graceful: every job gets ABORT(shutdown), then the loop ends. Idempotent.
  void stop();

  // Jobs of another configuration take the place of those that run; returns what came of it. Throws
  // std::invalid_argument, and changes nothing, when the running switch cannot take it, and
  // std::runtime_error when the loop does not answer.
  config::Change apply(const config::SwitchConfig& next);
  // While it is held, the configuration stays as it is: for readers of jobs and their counters.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(changing_); }

  // Any thread.
  [[nodiscard]] const config::SwitchConfig& config() const { return config_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Port>>& ports() const { return ports_; }
  [[nodiscard]] const FramePool& pool() const { return pool_; }
  [[nodiscard]] Worker& worker() { return *worker_; }
  [[nodiscard]] Identity identity() const { return identity_of(config_); }

 private:
  std::mutex changing_;
  std::vector<std::shared_ptr<Worker::Change>> abandoned_;  // the loop did not answer
  config::SwitchConfig config_;
  FramePool pool_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::unique_ptr<Worker> worker_;
  TscClock clock_;
  std::unique_ptr<LinkMonitor> monitor_;
  bool running_ = false;
  std::atomic<bool> ended_ = false;  // the loop has returned
};

}  // namespace tributary::dataplane
