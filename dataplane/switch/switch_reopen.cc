// Ports that are given up for a moment, and taken again with what their devices are told at their
// start, or with another device that the old one is in the way of.
//
//   apply() ─▶ closed: no queues, link down ─▶ devices closed ─▶ each opened ─▶ steps of the loops
//                      ▲                                            └─ it cannot be: the device
//                      │                                               before is opened again, or
//                      └──────────── the next reload ◀──────────────── it stays closed
//
// The rest of a reload is in force before the first of them is opened. The configuration says of a
// closed port that it has no queues, so the next file differs, and opening is tried again; before
// that, switch_keep.cc does so when a missing kernel interface appears.
#include <stdexcept>
#include <tuple>
#include <utility>

#include "dataplane/switch/loop_changes.h"
#include "dataplane/switch/switch.h"

namespace tributary::dataplane {

// Ranks behind the port, and those that wait for them, must not suffer from a slip in a file.
std::unique_ptr<Port> Switch::open_again(config::SwitchConfig& next, config::PortConfig before,
                                         std::uint16_t place, config::PortChange& change) {
  config::PortConfig& config = next.ports[place];
  const config::PortConfig wanted = config;
  std::string why;
  const PortOpener opener(config_, *pools_, report_);
  const Port& closed = *ports_[place];
  if (auto port = opener.try_open(wanted, place, pools_->plan(), closed, why)) return port;
  const auto device = [](auto& of) { return std::tie(of.devargs, of.queues, of.lcores, of.mtu); };
  if (before.queues != 0 && device(before) != device(config)) {
    device(config) = device(before);
    if (auto port = opener.open_as_before(next, place, closed)) {
      change.as_before.push_back(why);
      report_("stays as before: " + why);
      return port;
    }
  }
  leave_closed(place, wanted, why, change);
  config.queues = 0;
  return nullptr;
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
void Switch::open_again(const config::SwitchConfig& whole,
                        const std::vector<config::PortConfig>& before, config::Change& change,
                        Duration patience) {
  config::SwitchConfig next = whole;
  OpenPorts opened;
  for (const std::uint16_t place : change.ports.reopened) {
    auto port = open_again(next, before[place], place, change.ports);
    if (port != nullptr) opened.emplace_back(place, std::move(port));
  }
  if (opened.empty()) return;
  config::Change of_ports;
  of_ports.ports.reopened = change.ports.reopened;
  Prepared prepared;
  config::NumaPlan plan = pools_->plan();
  try {
    if (!change.ports.as_before.empty())
      plan = PortOpener(config_, *pools_, report_).plan_for(next, of_ports.ports.reopened);
    const config::Machine& machine = pools_->plan().machine;
    prepared = prepare_loops(*packet_loops_, config_, next, of_ports, machine);
    tell_loops(opened, of_ports.ports, prepared, machine);
    steps_->check(kPatience);
  } catch (const std::exception& wrong) {
    std::vector<std::uint16_t> places;
    for (const auto& [place, port] : opened) places.push_back(place);
    change.ports.as_before.clear();
    return leave_closed(places, whole, wrong.what(), change.ports);
  }
  if (!carry_out(next, of_ports, std::move(opened), std::move(plan), prepared, patience))
    change.late = kLate;
}

}  // namespace tributary::dataplane
