// A rank on a connected queue pair: messages of rdma_cm and packets of RC or UC, and what the
// switch says to them. Packets are made by core/net, and each of the switch's is checked down to
// its ICRC.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/net/cm.h"
#include "core/net/window_terms.h"
#include "dataplane/rdma/roce_frame.h"
#include "tests/dataplane/rdma/rdma_rank.h"

namespace tributary::dataplane {

struct RcRank {
  static constexpr std::uint32_t kId = 0x0A0B0C0D;
  static constexpr std::uint32_t kPsn = 0xFFFFFE;  // of the first result; wraps soon
  static constexpr std::uint64_t kRing = 0x7F0000001000;
  static constexpr std::uint32_t kRingKey = 0x99;

  RcRank(const TestWorker& as, std::uint32_t of_job, std::uint32_t of_rank) : cm(as, of_job) {
    cm.send.source_qpn = cm.send.qpn = wire::kGeneralServicesQp;
    cm.send.qkey = wire::kGeneralServicesQkey;
    request = {of_job, of_rank, kRing, kRingKey, 64, 3, 1, 4};
    path = {.source = cm.send.source,
            .destination = cm.send.destination,
            .source_ip = cm.send.source_ip,
            .destination_ip = cm.send.destination_ip,
            .source_qpn = RdmaRank::kQpn};
  }

  static void put32(wire::Mad& mad, std::size_t at, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) mad[at++] = static_cast<std::byte>(value >> shift);
  }
  [[nodiscard]] static wire::Mad message(wire::CmAttribute attribute, std::uint32_t sender,
                                         std::uint32_t receiver) {
    wire::Mad mad{};
    const wire::MadHeader header = wire::cm_mad_header(9, attribute);
    std::memcpy(mad.data(), &header, sizeof header);
    put32(mad, 24, sender);
    put32(mad, 28, receiver);
    return mad;
  }
  // Tests change `id`, `qpn`, `transport`, `mtu_code`, `port` and `request` to make mistakes.
  [[nodiscard]] Bytes req() const {
    wire::Mad mad = message(wire::CmAttribute::req, id, 0);
    put32(mad, 36, (transport == 0 ? 0x01060000u : 0x013F0000u) | port);
    put32(mad, 56, qpn << 8);
    put32(mad, 64, static_cast<std::uint32_t>(transport) << 1);
    put32(mad, 68, kPsn << 8);
    put32(mad, 72, 0xFFFF0000u | mtu_code << 12);
    mad[165] = std::byte{0x40};
    const auto data = wire::write_window_request(request);
    std::copy(data.begin(), data.end(), mad.begin() + 200);
    return cm.carry(mad);
  }
  [[nodiscard]] Bytes to_switch(wire::CmAttribute attribute) const {
    return cm.carry(message(attribute, id, switch_id));
  }

  static std::uint32_t number(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
    return value;
  }
  // The attribute of a message of the switch's connection manager; 0: it is none.
  static int attribute_of(std::span<const std::byte> frame) {
    const auto send = read_send(frame);
    if (!send || send->roce.bth.qpn != wire::kGeneralServicesQp) return 0;
    return std::to_integer<int>(send->roce.payload[17]);
  }
  // Reads a REP; false: it is none.
  bool take_rep(std::span<const std::byte> frame) {
    if (attribute_of(frame) != 0x13) return false;
    const auto mad = read_send(frame)->roce.payload;
    switch_id = number(mad, 24);
    switch_qpn = number(mad, 36) >> 8;
    request_psn = number(mad, 44) >> 8;
    return number(mad, 28) == id && wire::parse_window_grant(mad.subspan(60), grant);
  }
  // The reason of a REJ and its text; empty: it is none.
  static std::string rejection(std::span<const std::byte> frame) {
    if (attribute_of(frame) != 0x12) return "";
    const auto mad = read_send(frame)->roce.payload;
    return std::to_string(number(mad, 32) & 0xFFFF) + " " +
           reinterpret_cast<const char*>(mad.data() + 108);
  }

  [[nodiscard]] Bytes rc(wire::RoceHeaders headers, std::span<const std::byte> payload = {}) const {
    headers.bth.qpn = switch_qpn;
    const std::size_t head = wire::roce_shape(headers.bth.opcode)->header_bytes();
    const std::size_t at = roce_payload_at(path.vlan_tci, head);
    Bytes out(at + payload.size() + 8);
    std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    out.resize(write_roce_frame(path, headers, payload.size(), out));
    return out;
  }
  [[nodiscard]] std::uint8_t opcode(wire::RoceOperation operation) const {
    return wire::roce_opcode(static_cast<wire::RoceTransport>(transport), operation);
  }
  // A packet of a WRITE of so many bytes at an offset of the window.
  [[nodiscard]] Bytes part(wire::RoceOperation operation, std::uint32_t psn, std::uint64_t offset,
                           std::uint32_t length, std::span<const std::byte> data) const {
    return rc({.bth = {.opcode = opcode(operation),
                       .acknowledge = transport == 0,
                       .psn = psn & wire::kMaxQpn},
               .reth = {grant.address + offset, grant.rkey, length}},
              data);
  }
  // A WRITE of one packet.
  [[nodiscard]] Bytes write(std::uint32_t psn, std::uint64_t offset,
                            std::span<const std::byte> data) const {
    return part(wire::RoceOperation::write_only, psn, offset,
                static_cast<std::uint32_t>(data.size()), data);
  }
  [[nodiscard]] Bytes answer(std::uint8_t syndrome, std::uint32_t psn) const {
    return rc({.bth = {.opcode = wire::roce_opcode(wire::RoceTransport::rc,
                                                   wire::RoceOperation::acknowledge),
                       .psn = psn & wire::kMaxQpn},
               .aeth = {syndrome, 0}});
  }

  RdmaRank cm;  // to queue pair 1
  RocePath path;
  wire::WindowRequest request;
  std::uint32_t id = kId;
  std::uint32_t qpn = RdmaRank::kQpn;
  int transport = 0;
  std::uint32_t mtu_code = 1;  // 256 bytes
  std::uint16_t port = 47000;

  std::uint32_t switch_id = 0;
  std::uint32_t switch_qpn = 0;
  std::uint32_t request_psn = 0;  // of the first WRITE
  wire::WindowGrant grant;
};

// A packet of the switch to a connected queue pair. nullopt: not one.
inline std::optional<wire::RoceView> read_rc(std::span<const std::byte> frame) {
  wire::EthernetView ethernet;
  wire::Udp4View udp;
  bool is_udp = false;
  wire::RoceView view;
  if (wire::parse_ethernet(frame, ethernet) != DropReason::none ||
      wire::parse_udp4(ethernet.payload, udp, is_udp) != DropReason::none || !is_udp ||
      udp.endpoints.destination_port != wire::kRocePort || !wire::icrc_ok(ethernet.payload) ||
      wire::parse_roce(udp.payload, view) != DropReason::none || view.bth.opcode >> 5 > 1)
    return std::nullopt;
  return view;
}

}  // namespace tributary::dataplane
