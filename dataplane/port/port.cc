#include "dataplane/port/port.h"

#include <stdexcept>
#include <system_error>
#include <utility>

#include "config/plan/device_claims.h"
#include "core/invariant.h"
#include "dataplane/host/stale_socket.h"
#include "dataplane/memif/memif_port.h"
#include "dataplane/memif/memif_settings.h"
#include "dataplane/port/port_refusal.h"

namespace tributary::dataplane {

Port::Port() = default;

Port::Port(const config::PortConfig& config, PortUse use)
    : config_(config), devargs_(parse_devargs(config.devargs)) {
  if (const std::string wrong = check_devargs(config_, use); !wrong.empty())
    refuse_port(config_, wrong);
  // DPDK would be content with it, and it is another port's.
  if (Ethdev::is_taken(devargs_))
    refuse_port(config_, "there is a device of that name already; give this one another");
  if (const auto socket = config::served_socket(devargs_)) remove_stale_socket(*socket);
  if (serves_memif(devargs_))
    create_memif_server();
  else
    device_.emplace(config_, devargs_);
}

Port::Port(const config::PortConfig& config, std::uint16_t ethdev, bool checks_udp)
    : config_(config), devargs_(parse_devargs(config.devargs)) {
  device_.emplace(config_, devargs_, ethdev, checks_udp);
}

void Port::create_memif_server() {
  try {
    memif_ = std::make_unique<MemifPort>(devargs_);
  } catch (const std::invalid_argument& wrong) {
    refuse_port(config_, wrong.what());
  } catch (const std::system_error& error) {
    refuse_port(config_, devargs_, "the socket cannot be created", error.code().value());
  }
}

Port::~Port() {
  if (device_) steering_.end();
}

Port& Port::none() {
  static Port nowhere;
  return nowhere;
}

std::unique_ptr<Port> Port::closed(const config::PortConfig& config) {
  auto port = std::unique_ptr<Port>(new Port());
  port->config_ = config;
  port->devargs_ = parse_devargs(config.devargs);
  return port;
}

void Port::set_up(std::span<rte_mempool* const> pools, std::size_t own_buffers) {
  TRIBUTARY_INVARIANT(pools.size() == config_.queues);
  if (memif_) try {
      memif_->open(pools);
    } catch (const std::system_error& error) {
      refuse_port(config_, devargs_, "the socket takes no clients", error.code().value());
    }
  if (device_) why_ = device_->set_up(pools, own_buffers, steering_);
  poll_link();
}

std::string Port::lacks(const config::PortConfig& wanted) const {
  return device_ ? device_->lacks(wanted) : std::string();
}

void Port::succeed(const Port& before, bool same_peers) {
  link_.succeed(before.link().losses() + (same_peers ? 0 : 1));
  lost_before_ = before.losses();
  losses_ = lost_before_;
}

void Port::stay_down(const std::string& why) {
  why_ = why;
  link_.count_loss();
}

bool Port::unchecked() const {
  return memif_ != nullptr && memif_->unchecked();
}

bool Port::reads_results(std::uint32_t region) const {
  return memif_ != nullptr && memif_->reads(region);
}

DeviceLosses Port::device_losses() {
  if (device_) return device_->losses();
  DeviceLosses now;
  const MemifPort::Losses lost = memif_->losses();
  now.rx_errors.set(lost.unusable);
  now.no_buffers.set(lost.no_buffers);
  now.tx_errors.set(lost.unsent);
  return now;
}

void Port::poll_losses() {
  if (!is_device()) return;
  const DeviceLosses now = device_losses();
  for (Counter DeviceLosses::*counter : {&DeviceLosses::missed, &DeviceLosses::rx_errors,
                                         &DeviceLosses::no_buffers, &DeviceLosses::tx_errors})
    (losses_.*counter).raise_to((lost_before_.*counter).get() + (now.*counter).get());
}

bool Port::connect_again() {
  return device_ && device_->connect_again();
}

void Port::lose_peer() {
  if (device_) device_->mark_peer_lost();
  link_.lose_peer();
}

void Port::disconnect_peer() {
  if (device_) return device_->disconnect_peer(link_);
  link_.forget_peer();
  memif_->disconnect_broken();
}

const char* Port::loss_text() const {
  return memif_ ? "its peer broke memif's protocol"
                : "its peer took away the memory that both share";
}

std::optional<std::string> Port::take_refusal() {
  return memif_ ? memif_->take_refusal() : std::nullopt;
}

// Another client may be there already: what was learned behind the one before is forgotten.
void Port::see_departures() {
  const std::uint32_t gone = memif_->departures();
  if (std::exchange(memif_departures_, gone) != gone) link_.interrupt();
}

bool Port::poll_link() {
  if (device_) return link_.poll(device_->is_running());
  if (!memif_) return false;
  see_departures();
  return link_.poll(memif_->connected());
}

}  // namespace tributary::dataplane
