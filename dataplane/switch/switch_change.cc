// A running switch takes over another configuration.
//
//   difference ─▶ prepare ─▶ open devices ─▶ do all loops answer? ─▶ steps of the loops ─▶ close
//   devices └──────────── until here, a failure changes nothing ──────────┘            │
//                                                   switch_reopen.cc ◀── ports to be opened again
//
// One control thread does all of it. It holds the configuration during the steps alone, which are a
// matter of milliseconds: devices may take seconds, and who asks how things stand shall not wait.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "config/plan/port_places.h"
#include "dataplane/switch/device_check.h"
#include "dataplane/switch/job_drain.h"
#include "dataplane/switch/loop_changes.h"
#include "dataplane/switch/switch.h"

namespace tributary::dataplane {
namespace {

// The same hosts are behind the same device: what is known of them is kept.
std::unique_ptr<Port> closed_for(const config::PortConfig& next, const Port& before) {
  auto port = Port::closed(next);
  port->succeed(before, before.config().devargs == port->config().devargs);
  return port;
}

// Reports queues and buffers on remote sockets; only what was not so before.
void report_remote_numa(const config::SwitchConfig& before, const config::Machine& machine,
                        const config::SwitchConfig& next, const config::NumaPlan& plan,
                        const LinkMonitor::Report& report) {
  for (const std::string& note : plan.notes) report(note);
  const auto known = config::far_queues(before, machine);
  for (const config::FarQueue& far : config::far_queues(next, plan.machine))
    if (std::find(known.begin(), known.end(), far) == known.end())
      report(config::describe(far, next));
}

}  // namespace

config::Change Switch::apply(const config::SwitchConfig& file, Duration patience) {
  const std::lock_guard alone(changing_);
  config::Change change =
      config::difference(config_, file, {pools_->data_bytes(), pools_->buffers()});
  if (change.empty()) {
    change.late = what_is_late();
    return change;
  }
  const config::SwitchConfig whole =
      config::seated(config_, file, config::seat_ports(config_, file));
  take(whole, change, patience);
  return change;
}

void Switch::take(const config::SwitchConfig& whole, config::Change& change, Duration patience) {
  const config::SwitchConfig next = config::with_closed(whole, change.ports.reopened);
  forget_abandoned();
  const std::vector<config::PortConfig> before = config_.ports;
  config::NumaPlan plan = pools_->plan();
  const config::Machine machine = plan.machine;
  Prepared prepared = prepare_loops(*packet_loops_, config_, next, change, machine);
  DeviceCheck(ports_, pools_->data_bytes(), has_pci_).check(whole, change.ports);
  OpenPorts ports = PortOpener(config_, *pools_, report_).open(whole, change.ports, plan);
  for (const std::uint16_t place : change.ports.reopened)
    ports.emplace_back(place, closed_for(next.ports[place], *ports_[place]));
  tell_loops(ports, change.ports, prepared, machine);
  // All of them or none: a loop that hangs is found before another has changed.
  steps_->check(kPatience);
  drain_before(next, change, config_, *packet_loops_, kPatience, report_);
  const bool all = carry_out(next, change, std::move(ports), std::move(plan), prepared, patience);
  if (all && !change.ports.reopened.empty()) open_again(whole, before, change, patience);
  if (all) return;
  change.late = kLate;
  leave_closed(change.ports.reopened, whole, change.late, change.ports);
}

// Once it has begun, there is no way back.
bool Switch::carry_out(const config::SwitchConfig& next, const config::Change& change,
                       OpenPorts ports, config::NumaPlan plan, const Prepared& prepared,
                       Duration patience) {
  std::vector<std::unique_ptr<Port>> closing;  // when the configuration is held no more
  PortMask moved = prepared.front()->forwarding.other_vlans;
  for (const std::uint16_t port : change.ports.exchanged) moved |= mask_of(port);
  const auto held = hold();
  const bool all = steps_->take(prepared, moved, patience);
  // First of all: a silent loop goes by it.
  if (!all) abandoned_.insert(abandoned_.end(), prepared.begin(), prepared.end());
  closing = exchange_ports(std::move(ports), change.ports, !all);
  for (const std::uint16_t place : change.ports.resized)
    ports_[place]->set_mtu(next.ports[place].mtu);
  report_remote_numa(config_, pools_->plan().machine, next, plan, report_);
  pools_->apply(std::move(plan));
  config_ = next;
  since_ = std::chrono::system_clock::now();
  steer();
  for (const std::uint16_t place : change.ports.renamed)
    if (monitor_) monitor_->rename(place, next.ports[place].name);
  return all;
}

// Prepared changes depend on what the loops have, and so on the change before. When all loops are
// through with that, only holders of the configuration may still use parts of it.
void Switch::forget_abandoned() {
  if (abandoned_.empty()) return;
  steps_->check(kPatience);
  Prepared changes;
  std::vector<std::unique_ptr<Port>> ports;
  const auto held = hold();
  changes.swap(abandoned_);
  ports.swap(abandoned_ports_);
}

// Whether the change before is still late; empty: no.
std::string Switch::what_is_late() {
  try {
    forget_abandoned();
    return "";
  } catch (const std::runtime_error& silent) {
    return silent.what();
  }
}

config::Change Switch::compare(const config::SwitchConfig& file) {
  const std::lock_guard alone(changing_);
  config::Change change =
      config::difference(config_, file, {pools_->data_bytes(), pools_->buffers()});
  if (!change.empty())
    DeviceCheck(ports_, pools_->data_bytes(), has_pci_)
        .check(config::seated(config_, file, config::seat_ports(config_, file)), change.ports);
  return change;
}

std::vector<std::unique_ptr<Port>> Switch::exchange_ports(OpenPorts opened,
                                                          const config::PortChange& change,
                                                          bool used_still) {
  std::vector<std::unique_ptr<Port>> replaced;
  const auto put = [&](std::uint16_t place, std::unique_ptr<Port> port) {
    if (place >= ports_.size()) ports_.resize(place + std::size_t{1});
    if (monitor_) monitor_->exchange(place, port.get());
    std::swap(ports_[place], port);
    absent_.erase(place);
    clients_.forget(place);
    if (ports_[place] != nullptr && ports_[place]->is_device())
      interfaces_.begin(place, *ports_[place]);
    if (port == nullptr) return;
    (used_still ? abandoned_ports_ : replaced).push_back(std::move(port));
  };
  for (auto& [place, port] : std::exchange(opened, {})) put(place, std::move(port));
  for (const std::uint16_t place : change.removed) put(place, nullptr);
  return replaced;
}

}  // namespace tributary::dataplane
