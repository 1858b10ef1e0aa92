#include "dataplane/switch/drop_reports.h"

namespace tributary::dataplane {

void DropReports::look(std::size_t place, const std::string& port, const PacketLoops& loops,
                       Instant now) {
  ages_.look(place, loops.port_counters(place).drops, now);
  for (std::size_t which = 0; which < DropWatch::kReasons.size(); ++which) {
    std::uint64_t count = 0;
    for (const auto& packet_loop : loops)
      count += packet_loop->port_counters(place).drops.get(DropWatch::kReasons[which]);
    if (const auto line = watch_.look(place, which, port, count, now)) report_(*line);
  }
}

}  // namespace tributary::dataplane
