#include "dataplane/rdma/roce_frame.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

// Routers spread flows by the source port: it follows from the queue pairs (annex A17).
std::uint16_t source_port(std::uint32_t source_qpn, std::uint32_t qpn) {
  const std::uint32_t both = source_qpn ^ qpn ^ (qpn >> 12);
  return static_cast<std::uint16_t>(0xC000 | (both & 0x3FFF));
}

}  // namespace

std::size_t write_roce_frame(const RocePath& path, const wire::RoceHeaders& headers,
                             std::size_t payload_bytes, std::span<std::byte> frame) {
  const auto* const shape = wire::roce_shape(headers.bth.opcode);
  if (!shape) return 0;
  const std::size_t head = shape->header_bytes();
  const std::size_t at = roce_payload_at(path.vlan_tci, head);
  const std::uint8_t pad = wire::roce_pad(payload_bytes);
  const std::size_t tail = pad + wire::kIcrcBytes;
  if (frame.size() < at + payload_bytes + tail) return 0;
  wire::RoceHeaders padded = headers;
  padded.bth.pad = pad;
  wire::write_roce(padded, frame.subspan(at - head));
  const auto behind = frame.subspan(at + payload_bytes, tail);
  std::fill(behind.begin(), behind.end(), std::byte{0});
  const wire::FrameTemplate t{
      .destination = path.destination,
      .source = path.source,
      .vlan_tci = path.vlan_tci,
      .endpoints = {path.source_ip, path.destination_ip,
                    source_port(path.source_qpn, headers.bth.qpn), wire::kRocePort},
      .dscp_ecn = path.dscp_ecn,
      .udp_checksum = false,
  };
  const std::size_t udp_bytes = head + payload_bytes + tail;
  const std::size_t bytes = wire::write_frame_headers(t, frame, udp_bytes);
  if (bytes == 0) return 0;
  const std::size_t ip = wire::kIpv4Bytes + wire::kUdpBytes + udp_bytes;
  wire::seal_icrc(frame.subspan(bytes - ip, ip));
  return bytes;
}

}  // namespace tributary::dataplane
