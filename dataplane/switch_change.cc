// A running switch takes over another configuration.
//
//   difference ─▶ prepare ─▶ open devices ─▶ do all loops answer? ─▶ steps of the loops ─▶ close
//   devices └──────────── until here, a failure changes nothing ──────────┘
//
// One control thread does all of it. It holds the configuration during the steps alone, which are a
// matter of milliseconds: devices may take seconds, and who asks how things stand shall not wait.
#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <utility>

#include "config/device_claims.h"
#include "config/port_places.h"
#include "dataplane/devargs.h"
#include "dataplane/socket_memory.h"
#include "dataplane/switch.h"

namespace tributary::dataplane {
namespace {

// The loop clears what the jobs that end have held, which is a matter of milliseconds.
constexpr auto kLongestChange = std::chrono::seconds(10);

}  // namespace

// All at once: in between two steps, frames of some queues wait.
template <typename Step>
bool Switch::everywhere(const Prepared& prepared, Step step) {
  bool all = true;
  std::vector<std::future<void>> answers;
  for (std::size_t i = 0; i < prepared.size(); ++i) try {
      // By address, so that what was replaced is destroyed here and not by the loop.
      answers.push_back(
          (*workers_)[i].mailbox().post([worker = &(*workers_)[i], change = prepared[i].get(),
                                         step](Instant now) { step(*worker, *change, now); }));
    } catch (const std::runtime_error&) {
      all = false;
    }
  const auto last = std::chrono::steady_clock::now() + kLongestChange;
  for (auto& answer : answers) all = answer.wait_until(last) == std::future_status::ready && all;
  return all;
}

config::Change Switch::apply(const config::SwitchConfig& file) {
  const std::lock_guard alone(changing_);
  config::Change change =
      config::difference(config_, file, {pools_->data_bytes(), pools_->buffers()});
  if (change.empty()) return change;
  const config::SwitchConfig next =
      config::seated(config_, file, config::seat_ports(config_, file));
  check_loops();  // what is prepared depends on what they have, and they on what came before
  Prepared prepared = prepare(next, change);
  config::NumaPlan plan = pools_->plan();
  OpenPorts opened = open_ports(next, change.ports, plan);
  tell_loops(opened, change.ports, prepared);
  check_loops();
  std::vector<std::unique_ptr<Port>> closing;  // when the configuration is held no more
  const auto held = hold();
  const bool in_steps = prepared.front()->plan.has_value();
  loops_left_.store(prepared.size());
  bool all = true;
  if (in_steps)
    all = everywhere(
        prepared, [](Worker& worker, Worker::Change& to, Instant) { worker.make_room(*to.plan); });
  all = everywhere(prepared, [](Worker& worker, Worker::Change& to,
                                Instant now) { worker.apply(to, now); }) &&
        all;
  // One that is silent keeps the others from this.
  if (in_steps && all)
    all = everywhere(prepared,
                     [](Worker& worker, Worker::Change&, Instant now) { worker.take_in(now); });
  closing = exchange_ports(std::move(opened), change.ports, !all);
  say_what_is_far(next, plan);
  pools_->apply(std::move(plan));
  config_ = next;
  steer();
  for (const std::uint16_t place : change.ports.renamed)
    if (monitor_) monitor_->rename(place, next.ports[place].name);
  PortMask moved = prepared.front()->forwarding.other_vlans;
  for (const std::uint16_t port : change.ports.exchanged) moved |= mask_of(port);
  if (!all) {
    abandoned_.insert(abandoned_.end(), prepared.begin(), prepared.end());
    throw std::runtime_error("the packet loop did not answer in time; it will when it wakes up");
  }
  if (moved != 0 && workers_->size() > 1)
    everywhere(prepared,
               [moved](Worker& worker, Worker::Change&, Instant) { worker.forget_behind(moved); });
  return change;
}

config::Change Switch::compare(const config::SwitchConfig& file) {
  const std::lock_guard alone(changing_);
  return config::difference(config_, file, {pools_->data_bytes(), pools_->buffers()});
}

Switch::Prepared Switch::prepare(const config::SwitchConfig& next, const config::Change& change) {
  const config::PortChange& ports = change.ports;
  const bool in_steps =
      ports.queues_move || !ports.added.empty() || !ports.removed.empty() || !ports.renamed.empty();
  Prepared prepared;
  for (const auto& worker : *workers_) {
    const SocketMemory memory(config::lcore_socket(pools_->plan().machine, prepared.size()));
    prepared.push_back(worker->prepare(next, change.forwarding));
    if (!in_steps) continue;
    prepared.back()->plan = worker->plan_ports(next, ports);
    prepared.back()->plan->loops_left = &loops_left_;
  }
  return prepared;
}

// The old device is closed after the new one is opened, so the two must not be the same.
void Switch::check_device(const config::PortConfig& port) const {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("the running switch cannot take this configuration:\nport " +
                                port.name + " (" + port.devargs + "): " + why);
  };
  const Devargs device = parse_devargs(port.devargs);
  if (device.pci() && !has_pci_)
    refuse("DPDK was started for no network card; only a restart brings the first one");
  for_each_port([&](std::size_t, const Port& other) {
    const Devargs& used = other.devargs();
    if (used.device == device.device)
      refuse("port " + other.name() + " has a device of that name; give the new one another");
    if (const auto both = config::contended(device, used))
      refuse("port " + other.name() + " has " + *both + "; give the new one another");
  });
  if (const std::size_t bytes = data_bytes_needed(port); bytes > pools_->data_bytes())
    refuse("needs packet buffers of " + std::to_string(bytes) + " bytes; they have " +
           std::to_string(pools_->data_bytes()) +
           " since the start, as the largest ports[].mtu and jobs[].chunk_bytes want it");
}

Switch::OpenPorts Switch::open_ports(const config::SwitchConfig& next,
                                     const config::PortChange& change, config::NumaPlan& plan) {
  std::vector<std::uint16_t> places = change.exchanged;
  places.insert(places.end(), change.added.begin(), change.added.end());
  for (const std::uint16_t place : places) check_device(next.ports[place]);
  OpenPorts opened;
  for (const std::uint16_t place : places) {
    const config::PortConfig& port = next.ports[place];
    opened.emplace_back(place, nullptr);
    if (parse_devargs(port.devargs).pci()) opened.back().second = std::make_unique<Port>(port);
  }
  plan = pools_->change(next, machine_with(change, opened), places);
  for (auto& [place, port] : opened) {
    if (port == nullptr) port = std::make_unique<Port>(next.ports[place]);
    port->set_up(pools_->of_port(place, plan));
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

// What was not so before.
void Switch::say_what_is_far(const config::SwitchConfig& next, const config::NumaPlan& plan) const {
  for (const std::string& note : plan.notes) report_(note);
  const auto before = config::far_queues(config_, pools_->plan().machine);
  for (const config::FarQueue& far : config::far_queues(next, plan.machine))
    if (std::find(before.begin(), before.end(), far) == before.end())
      report_(config::describe(far, next));
}

void Switch::tell_loops(const OpenPorts& ports, const config::PortChange& change,
                        const Prepared& prepared) {
  const auto comes = [&](std::uint16_t place) {
    return std::find(change.added.begin(), change.added.end(), place) != change.added.end();
  };
  for (std::size_t lcore = 0; lcore < prepared.size(); ++lcore)
    for (const auto& [place, port] : ports) {
      Worker::Change& to = *prepared[lcore];
      const SocketMemory memory(config::lcore_socket(pools_->plan().machine, lcore));
      if (comes(place))
        to.plan->added.emplace_back(place, make_lane(*port, place, to.plan->ways[place], lcore));
      else
        to.ports.emplace_back(place, port.get());
    }
}

// All of them or none: a loop that hangs is found before another has changed.
void Switch::check_loops() {
  for (const auto& worker : *workers_)
    if (!worker->mailbox().ask([w = worker.get()](Instant) { return w->has_taken_in(); },
                               Duration::seconds(kLongestChange.count())))
      throw std::runtime_error(
          "the change of ports before this one is not through yet: some packet loop was silent for "
          "too long; try again");
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
    if (port == nullptr) return;
    (used_still ? abandoned_ports_ : replaced).push_back(std::move(port));
  };
  for (auto& [place, port] : std::exchange(opened, {})) put(place, std::move(port));
  for (const std::uint16_t place : change.removed) put(place, nullptr);
  return replaced;
}

}  // namespace tributary::dataplane
