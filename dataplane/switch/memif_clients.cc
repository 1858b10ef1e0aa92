#include "dataplane/switch/memif_clients.h"

#include <algorithm>

#include "dataplane/memif/memif_port.h"

namespace tributary::dataplane {

// The link of a memif port is the connection of one process.
void MemifClients::look(std::uint16_t place, const Port& port,
                        const std::vector<config::JobConfig>& jobs, const PacketLoops& loops,
                        Instant now) {
  if (!port.devargs().kind->memif || !port.is_device()) return;
  const MemifPort* const server = port.memif_server();
  // The link monitor looks next, and loops send there until then.
  if (server != nullptr && server->connected() != port.link().up()) return;
  const auto by_lease = [](const auto& a, const auto& b) { return a.lease < b.lease; };
  const auto last = std::max_element(jobs.begin(), jobs.end(), by_lease);
  const Duration longest = last == jobs.end()
                               ? Duration()
                               : Duration::ns(last->lease.to_ns() / aggregator::Engine::kGonePart);
  const auto gone = watches_[place].look({.connected = port.link().up(),
                                          .losses = port.link().losses(),
                                          .deaths = server == nullptr ? 0 : server->deaths()},
                                         longest, now);
  if (!gone) return;
  for (const auto& packet_loop : loops)
    packet_loop->mailbox().ask([at = packet_loop.get(), place,
                                gone = *gone](Instant turn) { at->lose_behind(place, gone, turn); },
                               Duration::seconds(1));
}

}  // namespace tributary::dataplane
