#include "dataplane/udp/udp_port.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "core/net/arp.h"
#include "core/wire/ecn.h"
#include "dataplane/port/fault_guard.h"
#include "dataplane/port/port_burst.h"

namespace tributary::dataplane {
namespace {

// Asking the driver for its link, and the kernel for an interface.
constexpr Duration kLook = Duration::ms(20);
// How long the last frames may take to leave.
constexpr timespec kLinger{.tv_sec = 0, .tv_nsec = 20'000'000};

bool is_group(std::uint32_t ipv4) {
  return ipv4 >> 28 == 0xE;
}

std::span<std::byte> first_segment(rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
}

}  // namespace

UdpPort::UdpPort(UdpPortSettings settings, std::unique_ptr<FramePool> pool,
                 std::unique_ptr<Port> port)
    : settings_(std::move(settings)),
      identity_{.mac = settings_.mac, .ipv4 = settings_.own.ipv4},
      pool_(std::move(pool)),
      port_(std::move(port)),
      idle_(settings_.idle_sleep_max, kBurst / 2),
      no_room_(settings_.datagram_bytes) {
  for (const std::uint32_t peer : settings_.peers) peers_.push_back({peer, {}, {}});
  waiting_.reserve(kBacklog);
  if (settings_.fragments.datagrams != 0) {
    datagrams_ = std::make_unique<Datagrams>(settings_.fragments, pool_->data_bytes(),
                                             settings_.seed, pool_->get());
    fragmenter_.emplace(pool_->get(), 0);
  }
  install_fault_handlers();
}

UdpPort::~UdpPort() {
  flush();
  if (port_->link().up()) clock_nanosleep(CLOCK_MONOTONIC, 0, &kLinger, nullptr);
  flush();
  rte_pktmbuf_free(filling_);
  for (rte_mbuf* frame : waiting_) rte_pktmbuf_free(frame);
}

void UdpPort::wait(Duration limit) {
  const Duration pause = std::min(pause_, limit);
  if ((!waiting_.empty() && moves_) || pause <= Duration()) return;
  const timespec request{0, static_cast<long>(pause.to_ns())};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &request, nullptr);
}

void UdpPort::look(Instant now) {
  look_at_ = now + kLook;
  if (port_->link().lost_peer()) port_->disconnect_peer();
  const bool was_up = port_->link().up();
  if (!port_->poll_link()) {
    if (was_up) connect_at_ = now + kConnectAgain;
    return connect(now);
  }
  for (Peer& peer : peers_) {
    if (now < peer.ask_at) continue;
    peer.ask_at = now + (peer.mac ? kAskAgain : kAsk);
    ask(peer.ipv4);
  }
}

void UdpPort::connect(Instant now) {
  if (!connect_at_) connect_at_ = now + (port_->connecting() ? kConnectLimit : kConnectAgain);
  if (now < *connect_at_) return;
  connect_at_ = now + (port_->connect_again() ? kConnectLimit : kConnectAgain);
}

void UdpPort::ask(std::uint32_t peer) {
  rte_mbuf* const frame = rte_pktmbuf_alloc(pool_->get());
  if (frame == nullptr) return drops().add(DropReason::no_mbuf);
  const std::span<std::byte> bytes(rte_pktmbuf_mtod(frame, std::byte*), wire::kArpFrameBytes);
  frame->data_len = static_cast<std::uint16_t>(
      wire::write_arp_request(settings_.mac, settings_.own.ipv4, peer, bytes));
  frame->pkt_len = frame->data_len;
  send(frame);
}

std::size_t UdpPort::receive(const Receiver& receiver, Instant now) {
  // A thread that DPDK does not know has no cache of buffers.
  if (rte_lcore_id() == LCORE_ID_ANY) rte_thread_register();
  if (now >= look_at_) look(now);
  std::array<rte_mbuf*, kBurst> burst;
  std::uint16_t received = 0;
  if (!receive_burst(*port_, 0, burst.data(), kBurst, received)) counters_.peer_faults.add();
  for (std::uint16_t i = 0; i < received; ++i) {
    counters_.rx_bytes.add(burst[i]->pkt_len);
    handle(burst[i], receiver, now);
  }
  if (datagrams_ != nullptr) datagrams_->expire(now, kBurst, drops());
  counters_.rx_packets.add(received);
  pause_ = idle_.after_turn(received);
  return received;
}

void UdpPort::handle(rte_mbuf* frame, const Receiver& receiver, Instant now) {
  if (frame->nb_segs > 1 && rte_pktmbuf_linearize(frame) != 0)
    return drop(frame, DropReason::frame_multi_segment);
  wire::EthernetView view;
  const DropReason bad = wire::parse_ethernet(first_segment(frame), view);
  if (bad != DropReason::none) return drop(frame, bad);
  learn(view);
  if (is_arp_request_for(identity_, view)) {
    answer_arp(identity_, first_segment(frame), view);
    return send(frame);
  }
  if (view.destination != settings_.mac || view.vlan_tci) return rte_pktmbuf_free(frame);
  wire::Fragment4View fragment;
  if (datagrams_ != nullptr && is_own_fragment(view, fragment)) {
    frame = put_together(frame, view, fragment, now);
    if (frame == nullptr) return;
    wire::parse_ethernet(first_segment(frame), view);
  }
  handle_own(frame, view, receiver);
}

void UdpPort::handle_own(rte_mbuf* frame, const wire::EthernetView& view,
                         const Receiver& receiver) {
  if (is_echo_request_for(identity_, view)) {
    answer_echo(first_segment(frame), view);
    return send(frame);
  }
  hand_over(view, receiver);
  rte_pktmbuf_free(frame);
}

bool UdpPort::is_own_fragment(const wire::EthernetView& view, wire::Fragment4View& fragment) const {
  return view.ether_type == wire::kEtherTypeIpv4 && wire::is_fragment4(view.payload) &&
         wire::parse_fragment4(view.payload, fragment) == DropReason::none &&
         fragment.destination_ip == settings_.own.ipv4;
}

rte_mbuf* UdpPort::put_together(rte_mbuf* frame, const wire::EthernetView& view,
                                const wire::Fragment4View& fragment, Instant now) {
  const Datagrams::Outcome out = datagrams_->add(frame, view, fragment, now, drops());
  if (out.reason != DropReason::none) drop(frame, out.reason);
  if (out.whole != nullptr) counters_.reassembled.add();
  return out.whole;
}

// Learns peers alone, from ARP to this node: the table has no room for other hosts.
void UdpPort::learn(const wire::EthernetView& view) {
  if (view.ether_type != wire::kEtherTypeArp || view.vlan_tci) return;
  const auto arp = wire::parse_arp(view.payload);
  if (!arp || arp->target_ip != settings_.own.ipv4) return;
  for (Peer& peer : peers_)
    if (peer.ipv4 == arp->sender_ip) peer.mac = arp->sender_mac;
}

void UdpPort::hand_over(const wire::EthernetView& view, const Receiver& receiver) {
  if (view.ether_type != wire::kEtherTypeIpv4) return;
  const auto parsed = wire::parse_udp4(view.payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return drops().add(*bad);
  const auto& udp = std::get<std::optional<wire::Udp4View>>(parsed);
  if (!udp || udp->endpoints.destination_ip != settings_.own.ipv4 ||
      udp->endpoints.destination_port != settings_.own.port)
    return;
  if (udp->checksum != 0 && !wire::udp4_checksum_ok(*udp)) return drops().add(DropReason::checksum);
  receiver({.bytes = udp->payload,
            .from = {udp->endpoints.source_ip, udp->endpoints.source_port},
            .has_checksum = udp->checksum != 0,
            .congestion_experienced = udp->congestion_experienced});
}

std::span<std::byte> UdpPort::room() {
  if (filling_ == nullptr) filling_ = rte_pktmbuf_alloc(pool_->get());
  if (filling_ == nullptr) return no_room_;
  const std::size_t fits = rte_pktmbuf_tailroom(filling_) - wire::kUdpPayloadOffset;
  return {rte_pktmbuf_mtod(filling_, std::byte*) + wire::kUdpPayloadOffset,
          std::min(fits, settings_.datagram_bytes)};
}

std::optional<wire::MacAddress> UdpPort::mac_of(std::uint32_t ipv4) const {
  if (is_group(ipv4)) return wire::multicast_mac(ipv4);
  for (const Peer& peer : peers_)
    if (peer.ipv4 == ipv4) return peer.mac;
  return std::nullopt;
}

void UdpPort::queue(std::size_t bytes, const UdpAddress& to) {
  if (filling_ == nullptr) return drops().add(DropReason::no_mbuf);
  const auto mac = mac_of(to.ipv4);
  if (!mac) return counters_.unresolved.add();
  const wire::FrameTemplate t{
      .destination = *mac,
      .source = settings_.mac,
      .vlan_tci = std::nullopt,
      .endpoints = {settings_.own.ipv4, to.ipv4, settings_.own.port, to.port},
      .dscp_ecn = wire::kEct0,
      .udp_checksum = true,
  };
  const std::span<std::byte> frame(rte_pktmbuf_mtod(filling_, std::byte*),
                                   bytes + wire::kUdpPayloadOffset);
  filling_->data_len = static_cast<std::uint16_t>(wire::write_frame_headers(t, frame, bytes));
  filling_->pkt_len = filling_->data_len;
  send(std::exchange(filling_, nullptr));
}

void UdpPort::send(rte_mbuf* frame) {
  if (frame->pkt_len > port_->config().mtu + wire::kEthernetBytes)
    return fragmenter_ ? send_pieces(frame) : drop(frame, DropReason::mtu);
  if (waiting_.size() >= kBurst) flush();
  if (waiting_.size() == kBacklog) return drop(frame, DropReason::tx_full);
  waiting_.push_back(frame);
}

void UdpPort::send_pieces(rte_mbuf* frame) {
  Fragmenter::Pieces pieces;
  const std::size_t most = port_->config().mtu + wire::kEthernetBytes;
  const std::size_t count = fragmenter_->cut(frame, most, pieces);
  if (count == 0) return drop(frame, DropReason::no_mbuf);
  counters_.fragmented.add();
  rte_pktmbuf_free(frame);
  for (rte_mbuf* const piece : std::span(pieces).first(count)) send(piece);
}

void UdpPort::flush() {
  if (waiting_.empty()) return;
  std::size_t done = 0;
  while (done < waiting_.size() && port_->link().up()) {
    const auto burst =
        static_cast<std::uint16_t>(std::min<std::size_t>(waiting_.size() - done, kBurst));
    rte_mbuf** const frames = waiting_.data() + done;
    // The driver frees what it takes, so the sizes are read before.
    std::array<std::uint32_t, kBurst> lengths{};
    for (std::uint16_t i = 0; i < burst; ++i) lengths[i] = frames[i]->pkt_len;
    std::uint16_t taken = 0;
    if (!transmit_burst(*port_, 0, frames, burst, taken)) {
      counters_.peer_faults.add();
      drops().add(DropReason::tx_link_down, taken);
      done += taken;
      break;  // the link is down
    }
    for (std::uint16_t i = 0; i < taken; ++i) counters_.tx_bytes.add(lengths[i]);
    counters_.tx_packets.add(taken);
    done += taken;
    if (taken < burst) break;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(done));
  moves_ = done != 0;
  if (port_->link().up()) return;
  for (rte_mbuf* frame : waiting_) drop(frame, DropReason::tx_link_down);
  waiting_.clear();
}

void UdpPort::drop(rte_mbuf* frame, DropReason reason) {
  drops().add(reason);
  rte_pktmbuf_free(frame);
}

}  // namespace tributary::dataplane
