// Limits of the kernel's interfaces under ports: an MTU that is too small for the port, and frames
// that the kernel merges. Loops are told of the first, the operator of both.
//
// One control thread at a time, while no change of the configuration is under way.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "config/model/switch_config.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/port/port.h"
#include "dataplane/switch/link_monitor.h"

namespace tributary::dataplane {

class InterfaceWatch {
 public:
  explicit InterfaceWatch(LinkMonitor::Report report) : report_(std::move(report)) {}

  // The port was opened, and its loops know its interface's MTU.
  void begin(std::size_t place, const Port& port);
  // Tells all loops when that MTU is another one now. Throws std::runtime_error when one does not
  // answer; the next call tells them again.
  void follow(std::uint16_t place, const Port& port, const PacketLoops& loops);

 private:
  void report_mtu(const Port& port);

  const LinkMonitor::Report report_;
  std::array<std::uint32_t, config::kMaxPorts> told_mtus_{};  // to loops, by places
  std::set<std::string> short_ports_;  // whose interfaces have a smaller MTU, as reported
};

}  // namespace tributary::dataplane
