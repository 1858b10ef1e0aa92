#include "worker/memif/memif_transport.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/wire/ecn.h"
#include "core/wire/integrity.h"
#include "worker/transport/packet_check.h"

namespace tributary::worker {
namespace {

constexpr std::size_t kBurst = 64;
// The switch may start on these while the rest of a batch is being written.
constexpr std::size_t kFlushEvery = 8;
constexpr Duration kAnswerLimit = Duration::seconds(1);
constexpr Duration kLeastAnswerLimit = Duration::ms(200);
constexpr Duration kRefusalLimit = Duration::seconds(2);
constexpr Duration kArpInterval = Duration::ms(50);
// Frames for replies, leases and so on, besides a window of chunks.
constexpr std::size_t kControlDepth = 64;

void check_cancelled(const Patience& patience, const MemifAddress& address) {
  if (patience.cancelled && patience.cancelled())
    throw ConnectCancelled("memif socket " + address.socket + ": connecting was cancelled");
}

}  // namespace

MemifTransport::MemifTransport(MemifAddress address, const Patience& patience)
    : address_(std::move(address)),
      own_mac_(worker_mac(address_.own_ipv4)),
      base_port_(address_.base_port),
      member_(own_mac_),
      link_(MemifLink::at(address_.socket, address_.id)) {
  const std::int64_t deadline = now_ns() + patience.limit.to_ns();
  connect_patiently(patience, deadline);
  if (address_.switch_ipv4 == 0) take_told();
  link_->add(member_);
  generation_ = link_->generation();
  note_told();
  try {
    resolve_switch(patience, std::max(deadline, now_ns() + kAnswerLimit.to_ns()));
  } catch (...) {
    link_->remove(member_);
    throw;
  }
}

void MemifTransport::take_told() {
  const memif::Told told = link_->told();
  if (told.switch_ipv4 == 0)
    throw std::runtime_error(
        "memif socket " + address_.socket +
        ": the server there does not tell its address; add switch=IPV4, and id=N "
        "for its interface, to the worker's address");
  address_.switch_ipv4 = told.switch_ipv4;
  if (address_.base_port == 0) address_.base_port = base_port_ = told.udp_base_port;
  if (address_.own_ipv4 == told.switch_ipv4)
    throw std::invalid_argument("memif socket " + address_.socket +
                                ": ip=" + ipv4_text(told.switch_ipv4) + " is the switch's address");
}

// Another switch may be behind the one at the socket.
void MemifTransport::note_told() {
  const memif::Told told = link_->told();
  unchecked_ = told.unchecked != 0 && told.switch_ipv4 == address_.switch_ipv4;
}

bool MemifTransport::goes_unchecked() const {
  return unchecked_ && start_.integrity != static_cast<std::uint8_t>(wire::Integrity::always);
}

MemifTransport::~MemifTransport() {
  link_->remove(member_);
}

std::int64_t MemifTransport::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The switch may not be up yet. If it refuses because it opens its ports one after another, or has
// not noticed that this rank's predecessor died, it accepts soon, or never.
void MemifTransport::connect_patiently(const Patience& patience, std::int64_t deadline_ns) {
  const std::int64_t began = now_ns();
  std::int64_t refused_since = 0;
  for (;;) {
    try {
      const std::int64_t left = std::max(deadline_ns - now_ns(), kLeastAnswerLimit.to_ns());
      return link_->connect(Duration::ns(std::min(kAnswerLimit.to_ns(), left)));
    } catch (const MemifConnectError& e) {
      const std::int64_t now = now_ns();
      if (e.prospect() == MemifConnectError::Prospect::none) throw;
      const bool refused = e.prospect() == MemifConnectError::Prospect::soon;
      if (!refused || refused_since == 0) refused_since = refused ? now : 0;
      const bool for_good = refused && now - refused_since >= kRefusalLimit.to_ns();
      if (for_good || now >= deadline_ns)
        throw MemifConnectError(std::string(e.what()) + " (tried for " +
                                    std::to_string((now - began) / 1'000'000) + " ms)",
                                MemifConnectError::Prospect::none);
    }
    check_cancelled(patience, address_);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Repeats the request if it is lost because the switch's loop was not running yet.
void MemifTransport::resolve_switch(const Patience& patience, std::int64_t deadline_ns) {
  while (!switch_mac_) {
    check_cancelled(patience, address_);
    if (now_ns() >= deadline_ns || !link_up())
      throw std::runtime_error("memif socket " + address_.socket + ": connected as interface " +
                               std::to_string(link_->told_id()) + ", but " +
                               ipv4_text(address_.switch_ipv4) + " does not answer ARP");
    ask_for_switch_mac();
    wait(kArpInterval);
    receive([](const wire::Packet&) {});
  }
}

void MemifTransport::ask_for_switch_mac() {
  const MemifLink::Writing writing = link_->write();
  if (writing.rings == nullptr || writing.rings->tx_room() == 0) return;
  writing.rings->tx_commit(wire::write_arp_request(
      own_mac_, address_.own_ipv4, address_.switch_ipv4, writing.rings->tx_frame()));
  writing.rings->tx_flush();
}

void MemifTransport::follow_connection() {
  const std::uint32_t generation = link_->generation();
  if (generation == generation_) return;
  generation_ = generation;
  results_.reset();
  note_told();
  ask_for_switch_mac();
}

void MemifTransport::on_start(const wire::StartInfo& info) {
  base_port_ = info.udp_base_port;
  start_ = info;
  group_ipv4_ = info.group_ipv4;
  group_mac_ = wire::multicast_mac(info.group_ipv4);
  member_.hear_group(group_mac_);
  const std::size_t depth = std::size_t{info.window} * info.shards + kControlDepth;
  member_.depth = std::max(member_.depth.load(), depth);
  if (receiving_)
    link_->deepen_later();
  else
    link_->deepen();
}

std::size_t MemifTransport::send(std::span<const Datagram> batch) {
  const MemifLink::Writing writing = link_->write();
  if (writing.rings == nullptr) return 0;
  MemifRings& rings = *writing.rings;
  std::size_t room = rings.tx_room();
  std::size_t done = 0;
  for (; done < batch.size() && room > 0; ++done) {
    if (write_datagram(rings, batch[done])) --room;
    if ((done + 1) % kFlushEvery == 0) rings.tx_flush();
  }
  if (done > 0) rings.tx_flush();
  send_blocked_ = done < batch.size();
  return done;
}

// Returns false if no frame was used: a datagram that can never be sent is dropped, not kept.
bool MemifTransport::write_datagram(MemifRings& rings, const Datagram& d) {
  const std::size_t bytes = d.head.size() + d.payload.size();
  if (bytes > max_datagram_bytes()) {
    drops_.add(DropReason::mtu);
    return false;
  }
  const std::span<std::byte> frame = rings.tx_frame();
  std::byte* at = frame.data() + wire::kUdpPayloadOffset;
  std::memcpy(at, d.head.data(), d.head.size());
  if (!d.payload.empty()) std::memcpy(at + d.head.size(), d.payload.data(), d.payload.size());
  const wire::FrameTemplate t{
      .destination = *switch_mac_,
      .source = own_mac_,
      .vlan_tci = std::nullopt,
      .endpoints = {address_.own_ipv4, address_.switch_ipv4, address_.base_port,
                    static_cast<std::uint16_t>(base_port_ + d.port)},
      .dscp_ecn = wire::kEct0,
      .udp_checksum = !d.sealed && !goes_unchecked(),
  };
  rings.tx_commit(wire::write_frame_headers(t, frame, bytes));
  return true;
}

std::size_t MemifTransport::receive(const Receiver& receiver) {
  follow_connection();
  std::size_t delivered = 0;
  receiving_ = true;
  link_->receive(
      member_, kBurst,
      [&](std::span<const std::byte> frame) {
        if (handle_frame(frame, receiver)) ++delivered;
      },
      [&] { drops_.add(DropReason::frame_multi_segment); });
  receiving_ = false;
  const std::uint64_t lost = member_.inbox.lost();
  if (lost != lost_) drops_.add(DropReason::handover_full, lost - std::exchange(lost_, lost));
  return delivered;
}

void MemifTransport::wait(Duration limit) {
  link_->wait(member_, limit, send_blocked_);
  follow_connection();
}

// Returns false if it is no packet for this worker: frames for others (a switch floods unknown
// destinations) are ignored, broken ones are counted.
bool MemifTransport::handle_frame(std::span<const std::byte> frame, const Receiver& receiver) {
  const auto parsed = wire::parse_ethernet(frame);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) {
    drops_.add(*bad);
    return false;
  }
  const auto& eth = std::get<wire::EthernetView>(parsed);
  if (eth.ether_type == wire::kEtherTypeArp) handle_arp(eth.payload);
  const bool to_group = group_ipv4_ != 0 && eth.destination == group_mac_;
  if (eth.ether_type == memif::kEtherTypeResult && to_group)
    return eth.source == switch_mac_ && goes_unchecked() && handle_reference(eth, receiver);
  if (eth.ether_type != wire::kEtherTypeIpv4 || (eth.destination != own_mac_ && !to_group))
    return false;
  return handle_ipv4(eth.payload, receiver);
}

bool MemifTransport::handle_ipv4(std::span<const std::byte> packet, const Receiver& receiver) {
  const auto dropped = [this](DropReason reason) {
    drops_.add(reason);
    return false;
  };
  const auto ip = wire::parse_udp4(packet);
  if (const auto* bad = std::get_if<DropReason>(&ip)) return dropped(*bad);
  const auto& udp = std::get<std::optional<wire::Udp4View>>(ip);
  if (!udp) return false;
  const wire::UdpEndpoints& e = udp->endpoints;
  const bool for_us = e.destination_ip == address_.own_ipv4 ||
                      (group_ipv4_ != 0 && e.destination_ip == group_ipv4_);
  const bool known_port =
      e.destination_port == address_.base_port ||
      (e.destination_port >= base_port_ && e.destination_port < base_port_ + config::kMaxShards);
  if (!for_us || !known_port) return false;
  const bool from_host = e.source_ip != 0 && e.source_ip == direct_host(start_) &&
                         e.source_port == host_udp_port_ && e.destination_ip == group_ipv4_;
  const bool from_switch = e.source_ip == address_.switch_ipv4 &&
                           is_switch_port(start_, address_.base_port, e.source_port);
  if (!from_switch && !from_host) return dropped(DropReason::sender_mismatch);

  auto parsed = wire::parse(udp->payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return dropped(*bad);
  auto& aggregation = std::get<wire::Packet>(parsed);
  aggregation.congestion_experienced = udp->congestion_experienced;
  wire::Udp4View covered = *udp;
  covered.checksum_checked = udp->checksum == 0 && from_switch && goes_unchecked();
  if (const DropReason bad = wire::check_integrity(covered, aggregation); bad != DropReason::none)
    return dropped(bad);
  if (from_host && !is_direct_result(start_, aggregation)) return dropped(DropReason::stale_term);
  receiver(aggregation);
  return true;
}

bool MemifTransport::handle_reference(const wire::EthernetView& frame, const Receiver& receiver) {
  const auto dropped = [this](DropReason reason) {
    drops_.add(reason);
    return false;
  };
  memif::ResultReference at{};
  if (frame.payload.size() < sizeof at) return dropped(DropReason::frame_truncated);
  std::memcpy(&at, frame.payload.data(), sizeof at);
  if (results_ == nullptr || results_->region() != at.region) results_ = link_->results(at.region);
  const auto packet = results_ == nullptr ? std::nullopt : results_->read(at, result_);
  // It will be asked for again.
  if (!packet) return dropped(DropReason::no_integrity);
  const auto parsed = wire::parse(*packet);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return dropped(*bad);
  receiver(std::get<wire::Packet>(parsed));
  return true;
}

void MemifTransport::handle_arp(std::span<const std::byte> packet) {
  const auto arp = wire::parse_arp(packet);
  if (!arp || arp->target_ip != address_.own_ipv4) return;
  if (arp->sender_ip == address_.switch_ipv4) switch_mac_ = arp->sender_mac;
  if (!arp->is_request) return;
  const MemifLink::Writing writing = link_->write();
  if (writing.rings == nullptr || writing.rings->tx_room() == 0) return;
  writing.rings->tx_commit(wire::write_arp_reply(own_mac_, *arp, writing.rings->tx_frame()));
  writing.rings->tx_flush();
}

std::string MemifTransport::describe() const {
  return "memif " + address_.socket + " interface " + std::to_string(link_->told_id()) +
         (link_up() ? "" : " (down)") + ", " + ipv4_text(address_.own_ipv4) + " " +
         mac_text(own_mac_) + " to switch " + ipv4_text(address_.switch_ipv4) + ":" +
         std::to_string(base_port_) + " " + (switch_mac_ ? mac_text(*switch_mac_) : "unresolved") +
         ", frames up to " + std::to_string(MemifRings::kMostTxBytes) + " bytes";
}

std::unique_ptr<Transport> make_memif_transport(const std::string& address, std::uint32_t job,
                                                std::uint32_t rank, const Patience& patience) {
  return std::make_unique<MemifTransport>(parse_memif_address(address, job, rank), patience);
}

}  // namespace tributary::worker
