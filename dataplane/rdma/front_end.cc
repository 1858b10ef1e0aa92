#include "dataplane/rdma/front_end.h"

#include <algorithm>

#include "core/net/udp_peer.h"
#include "core/wire/ecn.h"
#include "core/wire/end_to_end.h"
#include "core/wire/integrity.h"
#include "dataplane/frontend/packet_bytes.h"
#include "dataplane/rdma/roce_frame.h"

namespace tributary::dataplane {

static_assert(FrontEnd<RdmaFrontEnd>);
static_assert(config::kMaxPorts <= 32);

namespace {

constexpr std::uint16_t kMembership = 0x8000;  // full or limited: a switch hears both

bool is_default_partition(std::uint16_t pkey) {
  return (pkey | kMembership) == wire::kDefaultPkey;
}

// classify() has seen that IPv4 has no options: its header is right in front of UDP's.
std::span<const std::byte> ip_packet(const wire::Udp4View& udp) {
  return {udp.datagram.data() - wire::kIpv4Bytes, udp.datagram.size() + wire::kIpv4Bytes};
}

Endpoint::Parts sender_of(std::uint16_t port, const Classified& frame, std::uint32_t flow) {
  return {.front_end = FrontEndId::rdma,
          .port = port,
          .flow = flow,
          .node = node_of_ipv4(frame.udp.endpoints.source_ip),
          .station = frame.source,
          .segment = frame.ethernet.vlan_tci};
}

}  // namespace

RdmaFrontEnd::RdmaFrontEnd(const config::SwitchConfig& config, const config::SwitchConfig& part,
                           std::size_t lcore, std::uint64_t seed)
    : mac_(config.mac.value_or(config::derived_mac(config.ipv4))),
      ipv4_(config.ipv4),
      owners_(config),
      pairs_(config),
      copies_(part),
      cm_(config),
      lcores_(static_cast<std::uint16_t>(config::lcore_count(config))),
      connections_(config, part, lcore, seed) {
  for (std::size_t port = 0; port < config.ports.size(); ++port)
    if (config.ports[port].rdma) ports_ |= std::uint32_t{1} << port;
}

DropReason RdmaFrontEnd::admit(std::uint16_t port, const wire::RoceView& view) const {
  if (!takes(port)) return DropReason::rdma_port;
  if (pairs_.find(view.bth.qpn) == nullptr) return DropReason::rdma_qp;
  if (!is_default_partition(view.bth.pkey)) return DropReason::rdma_pkey;
  if (!view.shape.deth) return DropReason::rdma_opcode;
  if (view.deth.qkey != wire::kRdmaCmQkey) return DropReason::rdma_qkey;
  return DropReason::none;
}

DropReason RdmaFrontEnd::read(std::uint16_t port, const Classified& frame, Event& event) const {
  wire::RoceView view;
  DropReason bad = wire::parse_roce(frame.udp.payload, view);
  if (bad == DropReason::none) bad = admit(port, view);
  if (bad == DropReason::none) bad = wire::parse(wire::packet_in_send(view.payload), event.packet);
  event.from = Endpoint(sender_of(port, frame, view.deth.source_qpn));
  if (bad != DropReason::none) return bad;
  QueuePair& pair = *pairs_.find(view.bth.qpn);
  if (event.packet.header.job != pair.job) return DropReason::rdma_job;
  event.packet.congestion_experienced = frame.udp.congestion_experienced || view.bth.fecn;
  pair.counters.received.add();
  pair.counters.received_bytes.add(view.payload.size());
  return DropReason::none;
}

DropReason RdmaFrontEnd::check(const Classified& frame, Event& event) {
  if (!wire::icrc_ok(ip_packet(frame.udp))) return DropReason::icrc;
  if (event.packet.extensions.empty()) return DropReason::none;
  wire::Udp4View covered = frame.udp;  // by the ICRC, which stands for a UDP checksum
  covered.checksum = 1;
  covered.checksum_checked = true;
  covered.payload = wire::packet_in_send(wire::peek_ud_payload(frame.udp.payload));
  const std::byte* const end = event.packet.payload.data() + event.packet.payload.size();
  covered.payload = covered.payload.first(static_cast<std::size_t>(end - covered.payload.data()));
  const DropReason bad = wire::check_integrity(covered, event.packet);
  if (wire::is_end_to_end(event.packet.extensions)) event.packet.extensions = {};
  return bad;
}

RdmaFrontEnd::Written RdmaFrontEnd::write(const aggregator::Outgoing& message, const RdmaCopy& copy,
                                          std::span<std::byte> frame) const {
  const QueuePair* const own = pairs_.of_job(message.header.job);
  if (own == nullptr) return {0, DropReason::rdma_qp};
  const Endpoint& to = copy.member != nullptr ? *copy.member : message.peer;
  const std::size_t at = ud_payload_at(to.segment());
  if (frame.size() < at + wire::kRoceLeadBytes) return {0, DropReason::mtu};
  const auto lead = frame.subspan(at, wire::kRoceLeadBytes);
  std::fill(lead.begin(), lead.end(), std::byte{0});
  const PacketBytes packet =
      write_packet(message, own->crc32c, frame.subspan(at + wire::kRoceLeadBytes));
  if (packet.bytes == 0) return {0, DropReason::mtu};
  const UdSend send{.source = mac_,
                    .destination = wire::mac_of(to.station()),
                    .vlan_tci = to.segment(),
                    .source_ip = ipv4_,
                    .destination_ip = ipv4_of(to.node()),
                    .dscp_ecn = wire::ecn_of(message.header.type),
                    .source_qpn = own->qpn,
                    .qpn = to.flow(),
                    .qkey = wire::kRdmaCmQkey,
                    .psn = message.header.seq & wire::kMaxQpn};
  const std::size_t bytes = write_ud_frame(send, wire::kRoceLeadBytes + packet.bytes, frame);
  if (bytes == 0) return {0, DropReason::mtu};
  QueuePair::Counters& counters = pairs_.of_job(own->job)->counters;
  counters.sent.add();
  counters.sent_bytes.add(packet.bytes);
  return {bytes, DropReason::none};
}

DropReason RdmaFrontEnd::read_mad(std::uint16_t port, const Classified& frame,
                                  std::span<const std::byte>& mad) const {
  if (!takes(port)) return DropReason::rdma_port;
  wire::RoceView view;
  const DropReason bad = wire::parse_roce(frame.udp.payload, view);
  if (bad != DropReason::none) return bad;
  if (!is_default_partition(view.bth.pkey)) return DropReason::rdma_pkey;
  if (!view.shape.deth) return DropReason::rdma_opcode;
  if (view.deth.qkey != wire::kGeneralServicesQkey) return DropReason::rdma_qkey;
  if (!wire::icrc_ok(ip_packet(frame.udp))) return DropReason::icrc;
  mad = view.payload;
  return DropReason::none;
}

RdmaFrontEnd::Written RdmaFrontEnd::answer_cm(std::uint16_t port, const Classified& request,
                                              std::span<std::byte> frame) const {
  std::span<const std::byte> mad;
  wire::SidrRequest asked;
  DropReason bad = read_mad(port, request, mad);
  if (bad == DropReason::none) bad = wire::parse_sidr_request(mad, asked);
  if (bad != DropReason::none) return {0, bad};
  return write_set_up(Endpoint(sender_of(port, request, wire::kGeneralServicesQp)),
                      wire::write_sidr_reply(cm_.answer(asked, pairs_)), frame);
}

std::optional<std::uint16_t> RdmaFrontEnd::set_up_owner(const Classified& frame) const {
  wire::RoceView view;
  wire::CmMessage message;
  if (wire::parse_roce(frame.udp.payload, view) != DropReason::none ||
      wire::parse_cm(view.payload, message) != DropReason::none)
    return std::nullopt;
  wire::WindowRequest place;
  if (message.type != wire::CmAttribute::req)
    return is_connected_qpn(message.ids.receiver) ? lcore_of(message.ids.receiver) : std::nullopt;
  if (!wire::parse_window_request(message.request.data, place)) return std::nullopt;
  return owners_.of(wire::JobPlane{place.job, 0});
}

DropReason RdmaFrontEnd::read_set_up(std::uint16_t port, const Classified& frame,
                                     CmArrival& arrival) const {
  std::span<const std::byte> mad;
  const DropReason bad = read_mad(port, frame, mad);
  if (bad != DropReason::none) return bad;
  arrival.from = sender_of(port, frame, 0);
  return wire::parse_cm(mad, arrival.message);
}

RdmaFrontEnd::Written RdmaFrontEnd::write_set_up(const Endpoint& to, const wire::Mad& mad,
                                                 std::span<std::byte> frame) const {
  const std::size_t at = ud_payload_at(to.segment());
  if (frame.size() < at + mad.size()) return {0, DropReason::mtu};
  std::copy(mad.begin(), mad.end(), frame.begin() + static_cast<std::ptrdiff_t>(at));
  const UdSend send{.source = mac_,
                    .destination = wire::mac_of(to.station()),
                    .vlan_tci = to.segment(),
                    .source_ip = ipv4_,
                    .destination_ip = ipv4_of(to.node()),
                    .source_qpn = wire::kGeneralServicesQp,
                    .qpn = wire::kGeneralServicesQp,
                    .qkey = wire::kGeneralServicesQkey};
  return {write_ud_frame(send, mad.size(), frame), DropReason::mtu};
}

DropReason RdmaFrontEnd::read_connected(std::uint16_t port, const Classified& frame,
                                        ConnectedArrival& arrival) const {
  wire::RoceView& view = arrival.view;
  const DropReason bad = wire::parse_roce(frame.udp.payload, view);
  if (bad != DropReason::none && bad != DropReason::rdma_opcode) return bad;
  if (bad == DropReason::rdma_opcode) {
    view.shape = {};
    view.payload = {};
  }
  if (!takes(port)) return DropReason::rdma_port;
  arrival.connection = connections_.find(view.bth.qpn);
  if (arrival.connection == nullptr || !arrival.connection->is_open()) return DropReason::rdma_qp;
  if (!is_default_partition(view.bth.pkey)) return DropReason::rdma_pkey;
  if (view.bth.opcode >> 5 != static_cast<int>(arrival.connection->transport))
    return DropReason::rdma_opcode;
  const std::uint32_t flow = arrival.connection->peer.flow();
  if (Endpoint(sender_of(port, frame, flow)) != arrival.connection->peer)
    return DropReason::sender_mismatch;
  return wire::icrc_ok(ip_packet(frame.udp)) ? DropReason::none : DropReason::icrc;
}

RdmaFrontEnd::Written RdmaFrontEnd::write_connected(const Connection& to,
                                                    const wire::RoceHeaders& headers,
                                                    std::span<const std::byte> payload,
                                                    std::span<std::byte> frame) const {
  const auto* const shape = wire::roce_shape(headers.bth.opcode);
  const std::size_t at = roce_payload_at(to.peer.segment(), shape ? shape->header_bytes() : 0);
  if (frame.size() < at + payload.size()) return {0, DropReason::mtu};
  std::copy(payload.begin(), payload.end(), frame.begin() + static_cast<std::ptrdiff_t>(at));
  const RocePath path{.source = mac_,
                      .destination = wire::mac_of(to.peer.station()),
                      .vlan_tci = to.peer.segment(),
                      .source_ip = ipv4_,
                      .destination_ip = ipv4_of(to.peer.node()),
                      .source_qpn = to.qpn};
  return {write_roce_frame(path, headers, payload.size(), frame), DropReason::mtu};
}

}  // namespace tributary::dataplane
