#include "sim/node/rank_card.h"

#include <cstring>
#include <optional>

#include "config/model/switch_config.h"
#include "core/net/frame.h"
#include "core/wire/ecn.h"
#include "core/wire/integrity.h"
#include "worker/transport/packet_check.h"

namespace tributary::sim {
namespace {

constexpr std::uint16_t kStrayOffset = 100;

// Linux takes off these two.
bool is_tag(std::uint16_t ether_type) {
  return ether_type == wire::kEtherTypeVlan || ether_type == 0x88A8;
}

bool is_for(const RankCard& card, const wire::EthernetView& ethernet, const wire::Udp4View& udp) {
  const WorkerOptions& rank = card.options;
  const JobScenario& job = *rank.job;
  const std::uint32_t group = config::job_group_ipv4(job.id);
  const wire::UdpEndpoints& to = udp.endpoints;
  const bool to_group = ethernet.destination == wire::multicast_mac(group);
  const bool from_host = to_group && card.entered && to.source_ip != 0 &&
                         to.source_ip == worker::direct_host(card.start) &&
                         to.source_port == card.host_udp_port;
  const bool from_switch = to.source_ip == rank.switch_ipv4 &&
                           worker::is_switch_port(card.start, rank.udp_base_port, to.source_port);
  if (!from_switch && !from_host) return false;
  if (ethernet.destination == rank.mac) {
    const bool own = to.destination_port == card.udp_port ||
                     (rank.stray_ppm != 0 && to.destination_port == card.udp_port + kStrayOffset);
    return to.destination_ip == rank.ipv4 && own;
  }
  return card.entered && to_group && to.destination_ip == group &&
         to.destination_port >= rank.udp_base_port &&
         (to.destination_port - rank.udp_base_port) / job.shards == job.plane;
}

}  // namespace

FrameRef frame_of(const RankCard& card, FramePool& frames, const worker::Datagram& d, bool strays) {
  const WorkerOptions& rank = card.options;
  FrameRef frame = frames.take();
  if (!d.payload.empty()) {
    const auto carried = static_cast<std::uint32_t>(d.payload.size());
    const std::uint32_t data = carried * rank.job->payload_scale();
    frame.writable().data_bytes = data;
    frame.writable().absent_bytes = data - carried;
  }
  auto& bytes = frame.writable().bytes;
  const std::size_t packet = d.head.size() + d.payload.size();
  bytes.resize(wire::kUdpPayloadOffset + packet);
  std::memcpy(bytes.data() + wire::kUdpPayloadOffset, d.head.data(), d.head.size());
  if (!d.payload.empty())
    std::memcpy(bytes.data() + wire::kUdpPayloadOffset + d.head.size(), d.payload.data(),
                d.payload.size());
  wire::FrameTemplate t;
  t.destination = rank.switch_mac;
  t.source = rank.mac;
  const auto port = static_cast<std::uint16_t>(card.udp_port + (strays ? kStrayOffset : 0));
  t.endpoints = {rank.ipv4, rank.switch_ipv4, port,
                 static_cast<std::uint16_t>(rank.udp_base_port + d.port)};
  t.dscp_ecn = wire::kEct0;
  t.udp_checksum = !d.sealed;
  wire::write_frame_headers(t, bytes, packet);
  return frame;
}

std::optional<wire::EthernetView> untagged(const FrameRef& frame) {
  constexpr std::uint16_t kVlanId = 0x0FFF;
  wire::EthernetView view;
  if (wire::parse_ethernet(frame.bytes(), view) != DropReason::none) return std::nullopt;
  for (;;) {
    if ((view.vlan_tci.value_or(0) & kVlanId) != 0) return std::nullopt;
    if (!is_tag(view.ether_type)) return view;
    if (wire::take_vlan_tag(view) != DropReason::none) return std::nullopt;
  }
}

std::variant<std::monostate, DropReason, wire::Packet> packet_of(const RankCard& card,
                                                                 const FrameRef& frame) {
  wire::EthernetView outer;
  if (const DropReason bad = wire::parse_ethernet(frame.bytes(), outer); bad != DropReason::none)
    return bad;
  const auto eth = untagged(frame);
  if (!eth) return {};
  if (eth->destination != card.options.mac && !wire::is_multicast(eth->destination)) return {};
  if (eth->ether_type != wire::kEtherTypeIpv4) return {};
  const auto ip = wire::parse_udp4(eth->payload);
  if (const auto* bad = std::get_if<DropReason>(&ip)) return *bad;
  const auto& udp = std::get<std::optional<wire::Udp4View>>(ip);
  if (!udp || !is_for(card, *eth, *udp)) return {};
  if (udp->checksum != 0 && !wire::udp4_checksum_ok(*udp)) return DropReason::checksum;
  auto parsed = wire::parse(udp->payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return *bad;
  auto& packet = std::get<wire::Packet>(parsed);
  packet.congestion_experienced = udp->congestion_experienced;
  if (const DropReason bad = wire::check_integrity(*udp, packet); bad != DropReason::none)
    return bad;
  if (udp->endpoints.source_ip != card.options.switch_ipv4 &&
      !worker::is_direct_result(card.start, packet))
    return DropReason::stale_term;
  return packet;
}

}  // namespace tributary::sim
