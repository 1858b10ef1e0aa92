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

#include "config/change/moved_addresses.h"
#include "config/plan/device_claims.h"
#include "config/plan/port_places.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/host/socket_memory.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/switch/switch.h"

namespace tributary::dataplane {
namespace {

// For a port that has its device: why that device cannot be as the file wants it. Empty: no reason
// is known.
std::string is_lacking(const config::PortConfig& port, const Port& has) {
  if (!has.is_device() || has.config().devargs != port.devargs) return "";
  return has.lacks(port);
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
  Prepared prepared = prepare(next, change);
  config::NumaPlan plan = pools_->plan();
  OpenPorts ports = open_ports(whole, change.ports, plan);
  for (const std::uint16_t place : change.ports.reopened) ports.push_back(closed_port(next, place));
  tell_loops(ports, change.ports, prepared);
  // All of them or none: a loop that hangs is found before another has changed.
  steps_->check(kPatience);
  drain_before(next, change);
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
  report_remote_numa(next, plan);
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
    check_devices(config::seated(config_, file, config::seat_ports(config_, file)), change.ports);
  return change;
}

Switch::Prepared Switch::prepare(const config::SwitchConfig& next, const config::Change& change) {
  const config::PortChange& ports = change.ports;
  const bool in_steps = ports.queues_move || !ports.added.empty() || !ports.removed.empty() ||
                        !ports.renamed.empty() || !ports.reopened.empty();
  PortMask left = 0;
  for (const std::uint16_t place : config::ports_with_moved_addresses(config_, next))
    left |= mask_of(place);
  Prepared prepared;
  for (const auto& packet_loop : *packet_loops_) {
    const SocketMemory memory(config::lcore_socket(pools_->plan().machine, prepared.size()));
    prepared.push_back(packet_loop->prepare(next, change.forwarding));
    for (const std::uint16_t place : ports.resized)
      prepared.back()->mtus.emplace_back(place, next.ports[place].mtu);
    prepared.back()->forget = left;
    if (in_steps) prepared.back()->plan = packet_loop->plan_ports(next, ports);
  }
  return prepared;
}

// The old device is closed after the new one is opened, so the two must not be the same; but for
// that of a port that is opened again, which is at that place.
void Switch::check_device(const config::PortConfig& port, std::optional<std::size_t> again) const {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("the running switch cannot take this configuration:\nport " +
                                port.name + " (" + port.devargs + "): " + why);
  };
  const Devargs device = parse_devargs(port.devargs);
  if (device.pci() && !has_pci_)
    refuse("DPDK was started for no network card; only a restart brings the first one");
  if (const std::string wrong = check_devargs(port); !wrong.empty()) refuse(wrong);
  for_each_port([&](std::size_t place, const Port& other) {
    const Devargs& used = other.devargs();
    if (place == again) {
      if (const std::string wrong = is_lacking(port, other); !wrong.empty()) refuse(wrong);
      return;
    }
    if (!other.is_device()) return;
    if (used.device == device.device)
      refuse("port " + other.name() + " has a device of that name; give the new one another");
    if (const auto both = config::contended(device, used))
      refuse("port " + other.name() + " has " + *both + "; give the new one another");
  });
  // A port without a device goes on waiting for its interface, and so may one that need not be
  // there.
  const bool had =
      again && (!ports_[*again]->is_device() || ports_[*again]->config().devargs == port.devargs);
  if (const std::string missing = missing_interface(device);
      port.required && !had && !missing.empty())
    refuse("there is no interface '" + missing + "' here");
  if (const std::size_t bytes = data_bytes_needed(port); bytes > pools_->data_bytes())
    refuse("needs packet buffers of " + std::to_string(bytes) + " bytes; they have " +
           std::to_string(pools_->data_bytes()) +
           " since the start, as the largest ports[].mtu and jobs[].chunk_bytes want it");
}

void Switch::check_devices(const config::SwitchConfig& next,
                           const config::PortChange& change) const {
  for (const std::uint16_t place : change.exchanged) check_device(next.ports[place]);
  for (const std::uint16_t place : change.added) check_device(next.ports[place]);
  for (const std::uint16_t place : change.reopened) check_device(next.ports[place], place);
  for (const std::uint16_t place : change.resized) check_device(next.ports[place], place);
}

Switch::OpenPorts Switch::open_ports(const config::SwitchConfig& next,
                                     const config::PortChange& change, config::NumaPlan& plan) {
  std::vector<std::uint16_t> places = change.exchanged;
  places.insert(places.end(), change.added.begin(), change.added.end());
  check_devices(next, change);
  OpenPorts opened;
  for (const std::uint16_t place : places) {
    const config::PortConfig& port = next.ports[place];
    opened.emplace_back(place, nullptr);
    if (parse_devargs(port.devargs).pci()) opened.back().second = std::make_unique<Port>(port);
  }
  const config::Machine machine = machine_with(change, opened);
  places.insert(places.end(), change.reopened.begin(), change.reopened.end());
  plan = pools_->change(next, machine, places);
  for (auto& [place, port] : opened) {
    if (port == nullptr) port = std::make_unique<Port>(next.ports[place]);
    set_up(*port, place, plan);
  }
  return opened;
}

config::Machine Switch::machine_with(const config::PortChange& change,
                                     const OpenPorts& opened) const {
  config::Machine machine = pools_->plan().machine;
  for (const std::uint16_t place : change.removed) machine.ports[place] = config::kAnySocket;
  for (const auto& [place, port] : opened) {
    if (place >= machine.ports.size())
      machine.ports.resize(place + std::size_t{1}, config::kAnySocket);
    machine.ports[place] = port == nullptr ? config::kAnySocket : port->socket();
  }
  return machine;
}

// Reports only what was not so before.
void Switch::report_remote_numa(const config::SwitchConfig& next,
                                const config::NumaPlan& plan) const {
  for (const std::string& note : plan.notes) report_(note);
  const auto before = config::far_queues(config_, pools_->plan().machine);
  for (const config::FarQueue& far : config::far_queues(next, plan.machine))
    if (std::find(before.begin(), before.end(), far) == before.end())
      report_(config::describe(far, next));
}

void Switch::tell_loops(const OpenPorts& ports, const config::PortChange& change,
                        const Prepared& prepared) {
  const auto is_among = [](const std::vector<std::uint16_t>& places, std::uint16_t place) {
    return std::find(places.begin(), places.end(), place) != places.end();
  };
  for (std::size_t lcore = 0; lcore < prepared.size(); ++lcore)
    for (const auto& [place, port] : ports) {
      PacketLoop::Change& to = *prepared[lcore];
      const SocketMemory memory(config::lcore_socket(pools_->plan().machine, lcore));
      if (is_among(change.added, place))
        to.plan->added.emplace_back(place, make_lane(*port, place, to.plan->ways[place], lcore));
      else if (is_among(change.reopened, place))
        (port->is_device() ? to.plan->opened : to.plan->closed).emplace_back(place, port.get());
      else
        to.ports.emplace_back(place, port.get());
    }
}

void Switch::steer() {
  for_each_port([&](std::size_t place, const Port&) {
    ports_[place]->steering().apply(config::steering_plan(config_, place));
  });
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
    client_watches_.erase(place);
    if (ports_[place] != nullptr && ports_[place]->is_device()) look_at_interface(place);
    if (port == nullptr) return;
    (used_still ? abandoned_ports_ : replaced).push_back(std::move(port));
  };
  for (auto& [place, port] : std::exchange(opened, {})) put(place, std::move(port));
  for (const std::uint16_t place : change.removed) put(place, nullptr);
  return replaced;
}

}  // namespace tributary::dataplane
