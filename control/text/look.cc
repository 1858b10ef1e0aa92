#include "control/text/look.h"

#include "control/text/show_text.h"

namespace tributary::control {

std::vector<completion::SeatStatus> hosts_of(const dataplane::Switch& sw) {
  auto seats = on_every_loop(sw, [](dataplane::PacketLoop& loop, Instant now) {
    const auto* hosts = loop.remote_hosts();
    return hosts == nullptr ? std::vector<completion::SeatStatus>{} : hosts->status(now);
  });
  sort_by_job(sw, seats, &completion::SeatStatus::job);
  return seats;
}

std::vector<PortDrops> drops_of(const dataplane::Switch& sw) {
  std::vector<PortDrops> all;
  sw.for_each_port([&](std::size_t place, const dataplane::Port& port) {
    const DropCounters drops = sw.packet_loops().port_counters(place).drops;
    for (std::size_t r = 0; r < kDropReasonCount; ++r) {
      const auto reason = static_cast<DropReason>(r);
      if (const std::uint64_t packets = drops.get(reason); packets != 0)
        all.push_back({port.name(), reason, packets, sw.drop_age(place, reason, packets)});
    }
  });
  return all;
}

}  // namespace tributary::control
