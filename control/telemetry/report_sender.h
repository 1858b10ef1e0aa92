// Sends what packet loops have recorded of sampled packets to the telemetry server: telemetry
// report v2.0 in UDP (C6).
//
//   packet loop ─▶ ReportRing ─▶ drain() ─▶ datagrams of several reports ─▶ kernel
//
// Each packet loop counts its datagrams by itself, so that the server sees what is missing. A
// datagram that the kernel refuses is counted, and not sent again: a server that is gone costs
// nothing but its figures. With a key each datagram is signed. One thread.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "control/telemetry/report_key.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/telemetry/loop_telemetry.h"

namespace tributary::control {

class ReportSender {
 public:
  // `to`: address:port. Without a key nothing is signed. Throws std::runtime_error.
  ReportSender(std::uint32_t node, const std::string& to,
               std::unique_ptr<const ReportKey> key = nullptr);
  ~ReportSender();
  ReportSender(const ReportSender&) = delete;
  ReportSender& operator=(const ReportSender&) = delete;

  // Empties the ring of packet loop `lcore`, or takes as much as a full ring; returns how many
  // records that was.
  std::size_t drain(std::uint8_t lcore, dataplane::LoopTelemetry& of);

 private:
  void send(std::size_t bytes, dataplane::ReportCounters& counters);
  std::uint64_t next_signature();

  const std::uint32_t node_;
  const std::unique_ptr<const ReportKey> key_;
  std::uint64_t signature_ = 0;  // sequence of the last one
  sockaddr_storage to_{};
  socklen_t to_length_ = 0;
  int socket_ = -1;
  std::array<std::uint32_t, config::kMaxLcores> sequences_{};
  std::array<std::byte, 1400> datagram_;
  dataplane::ReportRecord record_;  // room
};

}  // namespace tributary::control
