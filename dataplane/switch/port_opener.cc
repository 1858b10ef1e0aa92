#include "dataplane/switch/port_opener.h"

#include <exception>

#include "config/plan/own_buffers.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/memif/memif_port.h"

namespace tributary::dataplane {

void PortOpener::set_up(Port& port, std::size_t place, const config::NumaPlan& plan) const {
  if (MemifPort* const server = port.memif_server())
    server->tell(config_.ipv4, config_.udp_base_port);
  port.set_up(pools_.of_port(place, plan), config::own_buffers(config_, port.config()));
  if (!port.why().empty()) report_("port " + port.name() + " " + port.why());
}

OpenPorts PortOpener::open(const config::SwitchConfig& next, const config::PortChange& change,
                           config::NumaPlan& plan) const {
  std::vector<std::uint16_t> places = change.exchanged;
  places.insert(places.end(), change.added.begin(), change.added.end());
  OpenPorts opened;
  for (const std::uint16_t place : places) {
    const config::PortConfig& port = next.ports[place];
    opened.emplace_back(place, nullptr);
    if (parse_devargs(port.devargs).pci()) opened.back().second = std::make_unique<Port>(port);
  }
  const config::Machine machine = machine_with(change, opened);
  places.insert(places.end(), change.reopened.begin(), change.reopened.end());
  plan = pools_.change(next, machine, places);
  for (auto& [place, port] : opened) {
    if (port == nullptr) port = std::make_unique<Port>(next.ports[place]);
    set_up(*port, place, plan);
  }
  return opened;
}

config::Machine PortOpener::machine_with(const config::PortChange& change,
                                         const OpenPorts& opened) const {
  config::Machine machine = pools_.plan().machine;
  for (const std::uint16_t place : change.removed) machine.ports[place] = config::kAnySocket;
  for (const auto& [place, port] : opened) {
    if (place >= machine.ports.size())
      machine.ports.resize(place + std::size_t{1}, config::kAnySocket);
    machine.ports[place] = port == nullptr ? config::kAnySocket : port->socket();
  }
  return machine;
}

std::unique_ptr<Port> PortOpener::try_open(const config::PortConfig& config, std::uint16_t place,
                                           const config::NumaPlan& plan, const Port& closed,
                                           std::string& why) const {
  try {
    auto port = std::make_unique<Port>(config);
    set_up(*port, place, plan);
    port->succeed(closed, true);
    return port;
  } catch (const std::exception& error) {
    why = error.what();
    return nullptr;
  }
}

std::unique_ptr<Port> PortOpener::open_as_before(const config::SwitchConfig& next,
                                                 std::uint16_t place, const Port& closed) const {
  try {
    std::string why;
    return try_open(next.ports[place], place, plan_for(next, {place}), closed, why);
  } catch (const std::exception&) {
    return nullptr;  // its buffers are taken
  }
}

config::NumaPlan PortOpener::plan_for(const config::SwitchConfig& next,
                                      const std::vector<std::uint16_t>& places) const {
  return pools_.change(next, pools_.plan().machine, places);
}

}  // namespace tributary::dataplane
