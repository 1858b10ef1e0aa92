// A process that sends reports as fast as it can to a UDP port of this machine, and what receives
// them: the telemetry server's receiver, or a bare recvmmsg().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "bench/telemetry_reports.h"

namespace tributary::bench {

// Begun before any thread. It runs on other CPUs than this process, if there are others.
class ReportFlood {
 public:
  explicit ReportFlood(RecordedReports reports);
  ~ReportFlood();
  ReportFlood(const ReportFlood&) = delete;
  ReportFlood& operator=(const ReportFlood&) = delete;

  void begin(int port) { shared_->port = port; }
  void end();

 private:
  struct Shared {
    std::atomic<int> port{0};  // 0: silent; -1: the process ends
    std::atomic<bool> silent{true};
  };
  [[noreturn]] static void run(RecordedReports reports, Shared& shared);

  Shared* shared_;
  pid_t process_;
};

// Counts datagrams, and does nothing else with them.
class BareSink {
 public:
  BareSink();
  ~BareSink();
  BareSink(const BareSink&) = delete;
  BareSink& operator=(const BareSink&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::uint64_t datagrams() const { return datagrams_; }

 private:
  void receive();

  int socket_;
  int port_ = 0;
  std::atomic<std::uint64_t> datagrams_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tributary::bench
