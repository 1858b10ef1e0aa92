// Keeps ports in step with the kernel's interfaces under them, while the switch runs.
//
//   interface replaced ──▶ the port is closed and opened on the new one
//   interface appears ───▶ a port that was closed for want of it is opened
//   memif client gone ───▶ all loops: the ranks behind the port are lost
//   interface's MTU ─────▶ all loops: what is longer is dropped there, and counted
//   drops that a mistake elsewhere causes ──▶ a line for the operator
//
// One thread, between two changes of the configuration: while one is under way it waits for the
// next round.
#include <chrono>
#include <stdexcept>

#include "config/plan/port_places.h"
#include "dataplane/memif/memif_port.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/switch/switch.h"

namespace tributary::dataplane {
namespace {

// Between two tries to open a device whose interface is there.
constexpr auto kRetry = std::chrono::seconds(5);

Instant steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Instant() + Duration::ns(std::chrono::nanoseconds(since).count());
}

bool interface_exists(const config::PortConfig& port) {
  const Devargs device = parse_devargs(port.devargs);
  return device.kind->binding == config::Binding::opens && missing_interface(device).empty();
}

}  // namespace

void Switch::keep_ports() {
  const std::unique_lock alone(changing_, std::try_to_lock);
  if (!alone) return;
  OwnPool::sweep();
  for (std::size_t place = 0; place < ports_.size(); ++place) {
    if (ports_[place] == nullptr) continue;
    drops_.look(place, ports_[place]->name(), *packet_loops_, steady_now());
    try {
      keep_port(static_cast<std::uint16_t>(place));
    } catch (const std::exception& error) {
      report_("port " + ports_[place]->name() + ": " + error.what());
    }
  }
}

Duration Switch::drop_age(std::size_t place, DropReason reason, std::uint64_t count) const {
  return drops_.age(place, reason, count, steady_now());
}

void Switch::keep_port(std::uint16_t place) {
  const auto now = std::chrono::steady_clock::now();
  Port& port = *ports_[place];
  clients_.look(place, port, config_.jobs, *packet_loops_, steady_now());
  if (MemifPort* const server = port.memif_server())
    server->tell(config_.ipv4, config_.udp_base_port);
  if (port.is_device()) {
    if (!port.is_replaced()) return interfaces_.follow(place, port, *packet_loops_);
    if (now < next_try_[place]) return;
    next_try_[place] = now + kRetry;
    report_("port " + port.name() + ": its interface is another one now; it is opened anew");
    config::Change change;
    change.ports.reopened = {place};
    const config::SwitchConfig whole = config_;
    take(whole, change, kPatience);
    if (ports_[place]->is_device()) next_try_[place] = {};
    return;
  }
  const auto absent = absent_.find(place);
  if (absent == absent_.end() || now < next_try_[place] || !interface_exists(absent->second))
    return;
  next_try_[place] = now + kRetry;
  config::SwitchConfig whole = config_;
  const std::vector<config::PortConfig> before = config_.ports;
  whole.ports[place] = absent->second;
  config::Change change;
  change.ports.reopened = {place};
  open_again(whole, before, change, kPatience);
}

}  // namespace tributary::dataplane
