// The real engine behind kernel UDP sockets on 127.0.0.1, run by a thread: a switch small enough
// for unit tests of the communicator. Results go out by multicast on the loopback interface.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aggregator/engine.h"
#include "worker/file_descriptor.h"

namespace tributary::worker {

class TestSwitch {
 public:
  // Finds free ports by itself; overwrites config.udp_base_port.
  explicit TestSwitch(config::SwitchConfig config);
  ~TestSwitch();

  [[nodiscard]] std::string address() const {
    return "udp://127.0.0.1:" + std::to_string(config_.udp_base_port);
  }
  // Stops without a word, as a crash does; packets to it are refused.
  void crash();
  // A new incarnation at the same address.
  void start();
  // Ends with ABORT(shutdown).
  void shut_down();
  [[nodiscard]] aggregator::JobCounters counters(std::size_t job = 0) const {
    return engine_->counters(job);
  }

 private:
  void open_sockets();
  void run();
  void receive(std::size_t shard);
  void flush();

  config::SwitchConfig config_;
  std::uint16_t next_epoch_ = 1;
  std::vector<FileDescriptor> sockets_;  // one per shard
  std::unique_ptr<aggregator::Engine> engine_;
  std::unique_ptr<aggregator::Outbox> outbox_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tributary::worker
