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
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "config/plan/port_places.h"
#include "dataplane/host/interface_offloads.h"
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
    report_drops(place);
    try {
      keep_port(static_cast<std::uint16_t>(place));
    } catch (const std::exception& error) {
      report_("port " + ports_[place]->name() + ": " + error.what());
    }
  }
}

Duration Switch::drop_age(std::size_t place, DropReason reason, std::uint64_t count) const {
  return drop_ages_.age(place, reason, count, steady_now());
}

void Switch::report_drops(std::size_t place) {
  const Instant now = steady_now();
  drop_ages_.look(place, packet_loops_->port_counters(place).drops, now);
  for (std::size_t which = 0; which < DropWatch::kReasons.size(); ++which) {
    std::uint64_t count = 0;
    for (const auto& packet_loop : *packet_loops_)
      count += packet_loop->port_counters(place).drops.get(DropWatch::kReasons[which]);
    if (const auto line = drop_watch_.look(place, which, ports_[place]->name(), count, now))
      report_(*line);
  }
}

// The link of a memif port is the connection of one process.
void Switch::watch_client(std::uint16_t place) {
  const Port& port = *ports_[place];
  if (!port.devargs().kind->memif || !port.is_device()) return;
  const MemifPort* const server = port.memif_server();
  // The link monitor looks next, and loops send there until then.
  if (server != nullptr && server->connected() != port.link().up()) return;
  const auto by_lease = [](const auto& a, const auto& b) { return a.lease < b.lease; };
  const auto last = std::max_element(config_.jobs.begin(), config_.jobs.end(), by_lease);
  const Duration longest = last == config_.jobs.end()
                               ? Duration()
                               : Duration::ns(last->lease.to_ns() / aggregator::Engine::kGonePart);
  const auto gone =
      client_watches_[place].look({.connected = port.link().up(),
                                   .losses = port.link().losses(),
                                   .deaths = server == nullptr ? 0 : server->deaths()},
                                  longest, steady_now());
  if (!gone) return;
  for (const auto& packet_loop : *packet_loops_)
    packet_loop->mailbox().ask([at = packet_loop.get(), place,
                                gone = *gone](Instant turn) { at->lose_behind(place, gone, turn); },
                               Duration::seconds(1));
}

void Switch::keep_port(std::uint16_t place) {
  const auto now = std::chrono::steady_clock::now();
  watch_client(place);
  Port& port = *ports_[place];
  if (MemifPort* const server = port.memif_server())
    server->tell(config_.ipv4, config_.udp_base_port);
  if (port.is_device()) {
    if (!port.is_replaced()) return follow_mtu(place);
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

// Loops drop and count what the interface would lose.
void Switch::follow_mtu(std::uint16_t place) {
  const Port& port = *ports_[place];
  const std::uint32_t mtu = port.interface_mtu();
  if (mtu == told_mtus_[place]) return;
  for (const auto& packet_loop : *packet_loops_)
    packet_loop->mailbox().ask(
        [at = packet_loop.get(), place, mtu](Instant) { at->limit_mtu(place, mtu); },
        Duration::seconds(1));
  told_mtus_[place] = mtu;
  report_mtu(port);
}

void Switch::look_at_interface(std::size_t place) {
  const Port& port = *ports_[place];
  told_mtus_[place] = port.interface_mtu();
  report_mtu(port);
  const std::string name(port.devargs().interface());
  if (port.devargs().kind->binding != config::Binding::opens || !merges_frames(name)) return;
  report_("port " + port.name() + ": interface '" + name +
          "' merges received frames (GRO), and what is then longer than the mtu is dropped "
          "(mtu-exceeded): ethtool -K " +
          name + " gro off lro off");
}

void Switch::report_mtu(const Port& port) {
  const std::uint32_t mtu = port.interface_mtu();
  const std::uint32_t wanted = port.config().mtu;
  const std::string name(port.devargs().interface());
  const bool short_now = mtu != 0 && mtu < wanted;
  if (!short_now && short_ports_.erase(port.name()) == 0) return;
  if (!short_now)
    return report_("port " + port.name() + ": interface '" + name + "' has mtu " +
                   std::to_string(mtu) + ", enough for the port's " + std::to_string(wanted));
  short_ports_.insert(port.name());
  report_("port " + port.name() + ": interface '" + name + "' has mtu " + std::to_string(mtu) +
          ", the port " + std::to_string(wanted) +
          ": longer frames are dropped (mtu-exceeded); ip link set " + name + " mtu " +
          std::to_string(wanted) + ", or lower ports[].mtu");
}

}  // namespace tributary::dataplane
