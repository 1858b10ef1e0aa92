#include "dataplane/switch/loop_changes.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "config/change/moved_addresses.h"
#include "dataplane/host/socket_memory.h"

namespace tributary::dataplane {

LoopSteps::Prepared prepare_loops(const PacketLoops& loops, const config::SwitchConfig& before,
                                  const config::SwitchConfig& next, const config::Change& change,
                                  const config::Machine& machine) {
  const config::PortChange& ports = change.ports;
  const bool in_steps = ports.queues_move || !ports.added.empty() || !ports.removed.empty() ||
                        !ports.renamed.empty() || !ports.reopened.empty();
  PortMask left = 0;
  for (const std::uint16_t place : config::ports_with_moved_addresses(before, next))
    left |= mask_of(place);
  LoopSteps::Prepared prepared;
  for (const auto& packet_loop : loops) {
    const SocketMemory memory(config::lcore_socket(machine, prepared.size()));
    prepared.push_back(packet_loop->prepare(next, change.forwarding));
    for (const std::uint16_t place : ports.resized)
      prepared.back()->mtus.emplace_back(place, next.ports[place].mtu);
    prepared.back()->forget = left;
    if (in_steps) prepared.back()->plan = packet_loop->plan_ports(next, ports);
  }
  return prepared;
}

void tell_loops(const OpenPorts& ports, const config::PortChange& change,
                const LoopSteps::Prepared& prepared, const config::Machine& machine) {
  const auto is_among = [](const std::vector<std::uint16_t>& places, std::uint16_t place) {
    return std::find(places.begin(), places.end(), place) != places.end();
  };
  for (std::size_t lcore = 0; lcore < prepared.size(); ++lcore)
    for (const auto& [place, port] : ports) {
      PacketLoop::Change& to = *prepared[lcore];
      const SocketMemory memory(config::lcore_socket(machine, lcore));
      if (is_among(change.added, place))
        to.plan->added.emplace_back(place, make_lane(*port, place, to.plan->ways[place], lcore));
      else if (is_among(change.reopened, place))
        (port->is_device() ? to.plan->opened : to.plan->closed).emplace_back(place, port.get());
      else
        to.ports.emplace_back(place, port.get());
    }
}

}  // namespace tributary::dataplane
