// Routers to peers: each loop asks for them by itself, and tells the others what it hears, since an
// answer comes in at any queue of the port. Which of it to believe, each decides by itself, too.
#include <rte_mbuf.h>

#include <algorithm>

#include "core/net/arp.h"
#include "dataplane/loop/packet_loop.h"

namespace tributary::dataplane {
namespace {

bool is_of_router(const NextHops& routers, std::uint16_t port, const wire::EthernetView& frame) {
  const auto arp = wire::parse_arp(frame.payload);
  const auto& all = routers.hops();
  return arp && std::any_of(all.begin(), all.end(), [&](const NextHop& hop) {
           return hop.port == port && hop.ipv4 == arp->sender_ip;
         });
}

}  // namespace

void PacketLoop::intercept_arp(std::uint16_t port, std::size_t place, Instant now) {
  const Classified& what = what_[place];
  rte_mbuf* const frame = burst_[place];
  learn_router(port, what, now);
  if (wire::is_multicast(what.ethernet.destination)) return to_forward_.add(place);
  if (!is_of_router(udp_.next_hops(), port, what.ethernet)) {
    tell(port, frame, {.action = Action::drop});
    return drop(*lanes_[port], frame, DropReason::unhandled);
  }
  tell(port, frame, {.action = Action::intercept_arp});
  rte_pktmbuf_free(frame);
}

void PacketLoop::learn_router(std::uint16_t port, const Classified& what, Instant now) {
  const auto arp = wire::parse_arp(what.ethernet.payload);
  if (!arp || what.ethernet.vlan_tci) return;
  const bool to_us = !arp->is_request && arp->target_ip == identity_.ipv4 &&
                     what.ethernet.destination == identity_.mac;
  if (!udp_.next_hops().intercept({port, arp->sender_ip, arp->sender_mac, to_us}, now) || !peers_)
    return;
  peers_->announce(
      {.mac = arp->sender_mac, .port = port, .at = now, .ipv4 = arp->sender_ip, .to_us = to_us});
}

std::size_t PacketLoop::ask_routers(Instant now) {
  const auto has_link = [&](std::uint16_t port) { return lanes_[port]->port->link().up(); };
  return udp_.next_hops().expire(now, has_link, [&](const NextHop& hop) {
    rte_mbuf* const frame = rte_pktmbuf_alloc(pool_);
    if (frame == nullptr) return lanes_[hop.port]->counters.drops.add(DropReason::no_mbuf);
    const std::span<std::byte> bytes(rte_pktmbuf_mtod(frame, std::byte*), wire::kArpFrameBytes);
    frame->data_len = static_cast<std::uint16_t>(
        wire::write_arp_request(identity_.mac, identity_.ipv4, hop.ipv4, bytes));
    frame->pkt_len = frame->data_len;
    transmitter_.send(hop.port, frame, TrafficClass::jobs);
  });
}

}  // namespace tributary::dataplane
