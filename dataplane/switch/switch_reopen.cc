// Ports that are given up for a moment, and taken again with what their devices are told at their
// start, or with another device that the old one is in the way of.
//
//   apply() ─▶ closed: no queues, link down ─▶ devices closed ─▶ each opened ─▶ steps of the loops
//                      ▲                                            └─ it cannot be: stays closed,
//                      └──────────── the next reload ◀──────────────── with the reason
//
// The rest of a reload is in force before the first of them is opened. The configuration says of a
// closed port that it has no queues, so the next file differs, and opening is tried again; before
// that, switch_keep.cc does so when a missing kernel interface appears.
#include <stdexcept>
#include <utility>

#include "dataplane/switch/switch.h"

namespace tributary::dataplane {

// The same hosts are behind the same device: what is known of them is kept.
Switch::OpenPorts::value_type Switch::closed_port(const config::SwitchConfig& next,
                                                  std::uint16_t place) const {
  const Port& before = *ports_[place];
  auto port = Port::closed(next.ports[place]);
  port->succeed(before, before.config().devargs == port->config().devargs);
  return {place, std::move(port)};
}

std::unique_ptr<Port> Switch::try_open(const config::PortConfig& config, std::uint16_t place,
                                       config::PortChange& change) {
  Port& closed = *ports_[place];
  try {
    auto port = std::make_unique<Port>(config);
    set_up(*port, place, pools_->plan());
    port->succeed(closed, true);
    return port;
  } catch (const std::exception& error) {
    leave_closed(place, config, error.what(), change);
    return nullptr;
  }
}

void Switch::leave_closed(std::uint16_t place, const config::PortConfig& later,
                          const std::string& why, config::PortChange& change) {
  absent_[place] = later;
  change.down.push_back(why);
  if (ports_[place]->why() == why) return;
  const auto held = hold();
  ports_[place]->stay_down(why);
  report_("stays closed: " + why);
}

void Switch::leave_closed(const std::vector<std::uint16_t>& places,
                          const config::SwitchConfig& whole, const std::string& what,
                          config::PortChange& change) {
  for (const std::uint16_t place : places) {
    const config::PortConfig& port = whole.ports[place];
    leave_closed(place, port, "port " + port.name + " (" + port.devargs + "): " + what, change);
  }
}

// All else holds by now, so nothing that is wrong is thrown.
void Switch::open_again(const config::SwitchConfig& whole, config::Change& change,
                        Duration patience) {
  config::SwitchConfig next = whole;
  OpenPorts opened;
  for (const std::uint16_t place : change.ports.reopened) {
    auto port = try_open(next.ports[place], place, change.ports);
    if (port == nullptr)
      next.ports[place].queues = 0;
    else
      opened.emplace_back(place, std::move(port));
  }
  if (opened.empty()) return;
  config::Change of_ports;
  of_ports.ports.reopened = change.ports.reopened;
  Prepared prepared;
  try {
    prepared = prepare(next, of_ports);
    tell_loops(opened, of_ports.ports, prepared);
    steps_->check(kPatience);
  } catch (const std::exception& wrong) {
    std::vector<std::uint16_t> places;
    for (const auto& [place, port] : opened) places.push_back(place);
    return leave_closed(places, whole, wrong.what(), change.ports);
  }
  if (!carry_out(next, of_ports, std::move(opened), pools_->plan(), prepared, patience))
    change.late = kLate;
}

}  // namespace tributary::dataplane
