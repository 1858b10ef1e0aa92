#include "dataplane/bridge/lldp.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace tributary::dataplane {
namespace {

// IEEE 802.1AB-2016, 9.2.5.5: a new neighbour gets a message soon.
constexpr Duration kSoon = Duration::seconds(1);

// Clause 9.2.4: both names together identify a neighbour.
bool is_same(const wire::LldpMessage& a, const wire::LldpMessage& b) {
  return a.chassis == b.chassis && a.port == b.port;
}

}  // namespace

Lldp::Lldp(const config::SwitchConfig& config, const Identity& identity, Lanes& lanes,
           Transmitter& transmitter, rte_mempool* pool, std::span<const std::uint16_t> ports)
    : config_(config.forwarding.lldp),
      name_(config.name),
      identity_(identity),
      lanes_(lanes),
      transmitter_(transmitter),
      pool_(pool),
      ports_(config::kMaxPorts) {
  for (const std::uint16_t port : ports) ports_[port].speaks = true;
}

void Lldp::set_rules(const config::LldpConfig& rules, Instant now) {
  config_ = rules;
  for (PortState& port : ports_) port.speak_at = std::min(port.speak_at, now + rules.interval);
}

DropReason Lldp::receive(std::uint16_t ingress, const wire::EthernetView& frame, Instant now) {
  PortState& port = ports_[ingress];
  if (!port.limit.take(now)) {
    counters_.refused.add();
    return DropReason::lldp_refused;
  }
  auto message = wire::parse_lldp(frame.payload);
  if (!message) return DropReason::lldp_malformed;
  counters_.received.add();
  const auto life = Duration::seconds(message->ttl_seconds);
  return remember(port, {frame.source, std::move(*message), now, now + life}, now);
}

DropReason Lldp::remember(PortState& port, const Neighbour& neighbour, Instant now) {
  const auto known = std::find_if(port.known.begin(), port.known.end(), [&](const Neighbour& n) {
    return is_same(n.said, neighbour.said);
  });
  const bool leaves = neighbour.said.ttl_seconds == 0;
  if (known != port.known.end()) {
    if (!leaves) {
      *known = neighbour;
      return DropReason::none;
    }
    port.known.erase(known);
    counters_.left.add();
    count(-1);
    return DropReason::none;
  }
  if (leaves) return DropReason::none;
  if (port.known.size() == kMostNeighbours) {
    counters_.refused.add();
    return DropReason::lldp_refused;
  }
  port.known.push_back(neighbour);
  count(1);
  port.speak_at = std::min(port.speak_at, now + kSoon);
  return DropReason::none;
}

std::size_t Lldp::forget(PortState& port, std::uint32_t losses, Instant now) {
  if (losses != port.losses) {
    port.losses = losses;
    port.speak_at = now;  // as soon as it is up again
    for (Neighbour& neighbour : port.known) neighbour.until = now;
  }
  const std::size_t gone =
      std::erase_if(port.known, [&](const Neighbour& n) { return n.until <= now; });
  counters_.aged.add(gone);
  count(-static_cast<std::int64_t>(gone));
  return gone;
}

void Lldp::count(std::int64_t more) {
  counters_.neighbours.set(counters_.neighbours.get() + static_cast<std::uint64_t>(more));
}

std::size_t Lldp::expire(Instant now) {
  const std::uint16_t port = looked_at_;
  looked_at_ = static_cast<std::uint16_t>(port + 1U >= lanes_.size() ? 0U : port + 1U);
  PortState& state = ports_[port];
  const std::size_t gone = forget(state, lanes_[port]->port->link().losses(), now);
  if (!state.speaks || now < state.speak_at || !lanes_[port]->port->link().up()) return gone;
  state.speak_at = now + config_.interval;
  send(port, config::lldp_ttl_seconds(config_));
  return gone + 1;
}

void Lldp::say_goodbye() {
  for (std::uint16_t port = 0; port < lanes_.size(); ++port) say_goodbye(port);
}

void Lldp::say_goodbye(std::uint16_t port) {
  if (ports_[port].speaks && lanes_[port]->port->link().up()) send(port, 0);
}

void Lldp::speak_on(std::uint32_t ports) {
  for (std::uint16_t port = 0; port < ports_.size(); ++port) {
    const bool speaks = (ports >> port & 1) != 0;
    if (speaks && !ports_[port].speaks) ports_[port].speak_at = Instant();
    ports_[port].speaks = speaks;
  }
}

void Lldp::send(std::uint16_t port, std::uint16_t ttl_seconds) {
  Lane& lane = *lanes_[port];
  wire::LldpMessage message;
  message.chassis = {wire::kLldpChassisMac, {identity_.mac.begin(), identity_.mac.end()}};
  message.port = {wire::kLldpPortInterface, lane.name};
  message.ttl_seconds = ttl_seconds;
  message.port_description = lane.port->devargs().driver;
  message.system_name = name_;
  message.system_description = "Tributary " TRIBUTARY_VERSION;
  if (identity_.ipv4 != 0) message.management_ipv4 = identity_.ipv4;

  rte_mbuf* const frame = rte_pktmbuf_alloc(pool_);
  if (frame == nullptr) return lane.counters.drops.add(DropReason::no_mbuf);
  const std::span room(rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_tailroom(frame));
  const std::size_t length = wire::write_lldp(identity_.mac, message, room);
  rte_pktmbuf_append(frame, static_cast<std::uint16_t>(length));
  counters_.sent.add();
  transmitter_.send(port, frame);
}

std::vector<LldpRow> Lldp::rows(Instant now) const {
  std::vector<LldpRow> rows;
  for (std::uint16_t port = 0; port < ports_.size(); ++port)
    for (const Neighbour& n : ports_[port].known)
      if (now < n.until) rows.push_back({port, n.mac, n.said, now - n.heard, n.until - now});
  return rows;
}

}  // namespace tributary::dataplane
