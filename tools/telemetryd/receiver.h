// Receives telemetry reports of registered switches and keeps the record table of them.
//
//   UDP socket ─recvmmsg─▶ Admission ─▶ RecordTable ◀─ HTTP thread
//
// One thread receives; the table is under a mutex, which it holds for a batch. Datagrams that the
// kernel drops because the socket's buffer is full are counted.
#pragma once

#include <netinet/in.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "telemetry/table/record_table.h"
#include "tools/telemetryd/admission.h"

namespace tributary::telemetryd {

struct ReceiverOptions {
  sockaddr_in listen{};  // port 0: any that is free
  Registered switches;
  std::shared_ptr<const control::ReportKey> key;  // none: signatures do not count
  telemetry::Marking marking;
  telemetry::TableLimits limits;
};

// Both throw std::invalid_argument that says what is wrong and what is allowed.
sockaddr_in parse_endpoint(const std::string& option, const std::string& text);
// "NODE=IPV4" or "NODE=IPV4%INTERFACE" into `switches`.
void register_switch(Registered& switches, const std::string& text);

struct ReceiverCounters {
  std::uint64_t datagrams = 0;
  std::array<std::uint64_t, kRefusals> refused{};  // by Refusal
  std::uint64_t overrun = 0;  // dropped by the kernel: the socket's buffer was full
};

class Receiver {
 public:
  // Listens. Throws std::runtime_error.
  explicit Receiver(const ReceiverOptions& options);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  [[nodiscard]] int port() const { return port_; }
  // The clock by which records are dated.
  [[nodiscard]] static Instant now();
  // Grows as long as the thread lives.
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  // `look` must be quick: the thread waits meanwhile.
  void with_table(const std::function<void(const telemetry::RecordTable&, const ReceiverCounters&,
                                           Instant now)>& look) const;

 private:
  void receive();

  Admission admission_;  // the thread's
  int socket_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;  // of the table and the counters
  telemetry::RecordTable table_;
  ReceiverCounters counters_;
  std::atomic<std::uint64_t> turns_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: begins when all else is there
};

}  // namespace tributary::telemetryd
