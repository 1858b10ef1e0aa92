// The control thread that takes the packet loops' reports of in-band telemetry to the server.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "control/telemetry/report_sender.h"
#include "dataplane/host/periodic_thread.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

class ReportThread {
 public:
  // The switch has telemetry, and outlives the thread. Throws std::runtime_error.
  explicit ReportThread(dataplane::Switch& sw)
      : loops_(sw.packet_loops()), sender_(node_of(sw), server_of(sw), key_of(sw)) {
    thread_.emplace(kPause, [this] { drain_all(); });
  }

 private:
  static constexpr std::chrono::milliseconds kPause{10};

  static std::uint32_t node_of(dataplane::Switch& sw) {
    const auto held = sw.hold();
    return sw.config().telemetry.node_id;
  }
  static std::string server_of(dataplane::Switch& sw) {
    const auto held = sw.hold();
    return sw.config().telemetry.report_to;
  }
  static std::unique_ptr<const ReportKey> key_of(dataplane::Switch& sw) {
    const auto held = sw.hold();
    const std::string& file = sw.config().telemetry.key_file;
    return file.empty() ? nullptr : std::make_unique<const ReportKey>(file);
  }
  void drain_all() {
    for (std::size_t lcore = 0; lcore < loops_.size(); ++lcore)
      if (dataplane::LoopTelemetry* const of = loops_[lcore].telemetry())
        sender_.drain(static_cast<std::uint8_t>(lcore), *of);
  }

  const dataplane::PacketLoops& loops_;
  ReportSender sender_;
  std::optional<dataplane::PeriodicThread> thread_;  // last: it uses the others
};

}  // namespace tributary::control
