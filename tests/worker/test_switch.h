// The real engine behind kernel UDP sockets on 127.0.0.1, run by a thread: a switch small enough
// for unit tests of the communicator. Results go out by multicast on the loopback interface.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aggregator/engine/engine.h"
#include "core/prng.h"
#include "worker/api/communicator.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::worker {

// One of many, so that tests at the same time use different groups.
std::uint32_t drawn_job_id();

class TestSwitch {
 public:
  // Finds free ports by itself; overwrites config.udp_base_port.
  explicit TestSwitch(config::SwitchConfig config);
  ~TestSwitch();

  [[nodiscard]] std::string address() const {
    return "udp://127.0.0.1:" + std::to_string(config_.udp_base_port);
  }
  // Patient options for a rank of the first job.
  [[nodiscard]] CommunicatorOptions options(std::uint32_t rank) const;
  // Stops without a word, as a crash does; packets to it are refused.
  void crash();
  // A new incarnation at the same address.
  void start();
  // Ends with ABORT(shutdown).
  void shut_down();
  // Counters of a plane of a job. As on switches with several lcores, each plane has its own
  // engine.
  [[nodiscard]] aggregator::JobCounters counters(std::size_t job = 0, std::size_t plane = 0) const {
    return planes_[plane].engine->counters(job);
  }
  // Ends the running epochs after an op that all ranks finish; returns when they have.
  void drain();
  // The same; then other engines, for this configuration of the jobs, take the place of these.
  void change(std::vector<config::JobConfig> jobs);
  // From now on so many of a million packets to it are lost.
  void lose(std::uint32_t ppm) { loss_ppm_ = ppm; }

 private:
  void open_sockets();
  void run();
  void receive(std::size_t socket);
  void flush(std::size_t plane);
  void flush(std::size_t plane, aggregator::Outbox& outbox);
  [[nodiscard]] bool has_drained();

  struct Plane {
    std::unique_ptr<aggregator::Engine> engine;
    std::unique_ptr<aggregator::Outbox> outbox;
    std::unique_ptr<aggregator::NameEngine> names;
    std::unique_ptr<aggregator::Outbox> names_outbox;
  };

  config::SwitchConfig config_;
  std::uint16_t next_epoch_ = 1;
  std::vector<FileDescriptor> sockets_;  // one per shard of each plane of the first job
  std::vector<Plane> planes_;
  std::atomic<std::uint32_t> loss_ppm_{0};
  Prng prng_{7};  // the thread's
  std::atomic<bool> stop_{false};
  std::atomic<bool> drains_{false};
  bool held_ = false;  // drained, for change()
  std::thread thread_;
};

}  // namespace tributary::worker
