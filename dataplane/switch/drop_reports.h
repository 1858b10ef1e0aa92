// Drops of all ports, as the keeper of ports sees them: how old they are, and lines for the
// operator about those that a mistake elsewhere causes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "dataplane/loop/packet_loops.h"
#include "dataplane/switch/drop_ages.h"
#include "dataplane/switch/drop_watch.h"
#include "dataplane/switch/link_monitor.h"

namespace tributary::dataplane {

class DropReports {
 public:
  explicit DropReports(LinkMonitor::Report report) : report_(std::move(report)) {}

  // One thread at a time. `port`: the name of the port at this place.
  void look(std::size_t place, const std::string& port, const PacketLoops& loops, Instant now);
  // Any thread. How long ago the port at this place dropped the last of its `count` packets for
  // this reason.
  [[nodiscard]] Duration age(std::size_t place, DropReason reason, std::uint64_t count,
                             Instant now) {
    return ages_.age(place, reason, count, now);
  }

 private:
  const LinkMonitor::Report report_;
  DropWatch watch_;
  DropAges ages_;
};

}  // namespace tributary::dataplane
