#include "core/net/roce.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/crc32.h"
#include "core/net/frame.h"

namespace tributary::wire {
namespace {

struct WireBth {
  std::uint8_t opcode;
  std::uint8_t flags;  // solicited, migrated, pad 2, version 4
  be16 pkey;
  std::uint8_t congestion;  // fecn, becn, reserved 6: not covered by the ICRC
  std::array<std::uint8_t, 3> qpn;
  std::uint8_t acknowledge;  // and reserved 7
  std::array<std::uint8_t, 3> psn;
};
static_assert(sizeof(WireBth) == kBthBytes);
struct WireDeth {
  be32 qkey;
  be32 source_qpn;  // the upper 8 bits are reserved
};
static_assert(sizeof(WireDeth) == kDethBytes);
struct WireReth {
  be64 address;
  be32 rkey;
  be32 length;
};
static_assert(sizeof(WireReth) == kRethBytes);

constexpr std::uint8_t kSolicited = 0x80;
constexpr std::uint8_t kMigrated = 0x40;
constexpr std::uint8_t kVersionMask = 0x0F;
constexpr std::uint8_t kFecn = 0x80;
constexpr std::uint8_t kBecn = 0x40;
constexpr std::uint8_t kAcknowledge = 0x80;
constexpr std::size_t kCnpPaddingBytes = 16;

constexpr std::uint32_t number_of(const std::array<std::uint8_t, 3>& bytes) {
  return std::uint32_t{bytes[0]} << 16 | std::uint32_t{bytes[1]} << 8 | bytes[2];
}
template <typename T>
T take(std::span<const std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}
template <typename T>
void put(std::span<std::byte>& bytes, const T& value) {
  std::memcpy(bytes.data(), &value, sizeof value);
  bytes = bytes.subspan(sizeof value);
}

Bth host_order(const WireBth& w) {
  return {.opcode = w.opcode,
          .solicited = (w.flags & kSolicited) != 0,
          .migrated = (w.flags & kMigrated) != 0,
          .pad = static_cast<std::uint8_t>(w.flags >> 4 & 3),
          .pkey = w.pkey,
          .fecn = (w.congestion & kFecn) != 0,
          .becn = (w.congestion & kBecn) != 0,
          .qpn = number_of(w.qpn),
          .acknowledge = (w.acknowledge & kAcknowledge) != 0,
          .psn = number_of(w.psn)};
}

// By words, here and below: bytes that are put together before they are copied have to wait.
void put_bth(std::span<std::byte>& out, const Bth& b) {
  const auto bit = [](bool set, std::uint8_t mask) { return set ? std::uint32_t{mask} : 0; };
  const std::uint32_t flags =
      bit(b.solicited, kSolicited) | bit(b.migrated, kMigrated) | (b.pad & 3u) << 4;
  const std::uint32_t congestion = bit(b.fecn, kFecn) | bit(b.becn, kBecn);
  put(out, be32(std::uint32_t{b.opcode} << 24 | flags << 16 | b.pkey));
  put(out, be32(congestion << 24 | (b.qpn & kMaxQpn)));
  put(out, be32(bit(b.acknowledge, kAcknowledge) << 24 | (b.psn & kMaxQpn)));
}
void put_reth(std::span<std::byte>& out, const Reth& r) {
  put(out, be64(r.address));
  put(out, be32(r.rkey));
  put(out, be32(r.length));
}

void take_extended(std::span<const std::byte>& at, RoceView& view) {
  if (view.shape.deth) {
    const auto w = take<WireDeth>(at);
    view.deth = {w.qkey, w.source_qpn & kMaxQpn};
  }
  if (view.shape.reth) {
    const auto w = take<WireReth>(at);
    view.reth = {w.address, w.rkey, w.length};
  }
  if (view.shape.aeth) {
    const std::uint32_t word = take<be32>(at);
    view.aeth = {static_cast<std::uint8_t>(word >> 24), word & kMaxQpn};
  }
  if (view.shape.immediate) view.immediate = take<be32>(at);
}

constexpr RoceShape write_shape(RoceOperation operation) {
  using enum RoceOperation;
  return {.reth = operation == write_first || operation == write_only ||
                  operation == write_only_immediate,
          .immediate = operation == write_last_immediate || operation == write_only_immediate,
          .payload = true};
}

constexpr std::optional<RoceShape> connected_shape(RoceOperation operation, bool reliable) {
  using enum RoceOperation;
  if (operation <= send_only_immediate)
    return RoceShape{
        .immediate = operation == send_last_immediate || operation == send_only_immediate,
        .payload = true};
  if (operation <= write_only_immediate) return write_shape(operation);
  if (!reliable) return std::nullopt;
  switch (operation) {
    case read_request: return RoceShape{.reth = true};
    case read_response_middle: return RoceShape{.payload = true};
    case read_response_first:
    case read_response_last:
    case read_response_only: return RoceShape{.aeth = true, .payload = true};
    case acknowledge: return RoceShape{.aeth = true};
    default: return std::nullopt;
  }
}

constexpr std::optional<RoceShape> shape_of(std::uint8_t opcode) {
  if (opcode == kCnp) return RoceShape{.payload = true};
  if (opcode == kUdSend) return RoceShape{.deth = true, .payload = true};
  if (opcode == kUdSendImmediate)
    return RoceShape{.deth = true, .immediate = true, .payload = true};
  const auto transport = static_cast<RoceTransport>(opcode >> 5);
  if (transport != RoceTransport::rc && transport != RoceTransport::uc) return std::nullopt;
  return connected_shape(static_cast<RoceOperation>(opcode & 0x1F), transport == RoceTransport::rc);
}

// By opcode: each packet is asked for several times.
constexpr auto kShapes = [] {
  std::array<std::optional<RoceShape>, 256> shapes;
  for (std::size_t opcode = 0; opcode < shapes.size(); ++opcode)
    shapes[opcode] = shape_of(static_cast<std::uint8_t>(opcode));
  return shapes;
}();

constexpr std::size_t kIpUdpBytes = kIpv4Bytes + kUdpBytes;
// Where the fields lie that routers may change.
constexpr std::size_t kTosAt = 1;
constexpr std::size_t kTtlAt = 8;
constexpr std::size_t kIpChecksumAt = 10;
constexpr std::size_t kUdpChecksumAt = kIpv4Bytes + 6;
constexpr std::size_t kCongestionAt = kIpUdpBytes + 4;
constexpr std::size_t kLocalRouteBytes = 8;  // stands for InfiniBand's local route header: all ones

}  // namespace

const RoceShape* roce_shape(std::uint8_t opcode) {
  return kShapes[opcode] ? &*kShapes[opcode] : nullptr;
}

DropReason parse_roce(std::span<const std::byte> bytes, RoceView& view) {
  if (bytes.size() < kBthBytes + kIcrcBytes) return DropReason::roce_malformed;
  auto at = bytes.first(bytes.size() - kIcrcBytes);
  const auto bth = take<WireBth>(at);
  if ((bth.flags & kVersionMask) != 0) return DropReason::roce_malformed;
  view.bth = host_order(bth);
  const auto* const shape = roce_shape(bth.opcode);
  if (!shape) return DropReason::rdma_opcode;
  if (at.size() < shape->header_bytes() - kBthBytes) return DropReason::roce_malformed;
  view.shape = *shape;
  take_extended(at, view);
  if (at.size() < view.bth.pad || at.size() % 4 != 0) return DropReason::roce_malformed;
  view.payload = at.first(at.size() - view.bth.pad);
  if (!shape->payload && !view.payload.empty()) return DropReason::roce_malformed;
  if (view.bth.opcode == kCnp && view.payload.size() != kCnpPaddingBytes)
    return DropReason::roce_malformed;
  return DropReason::none;
}

std::optional<std::uint32_t> peek_qpn(std::span<const std::byte> bytes) {
  if (bytes.size() < kBthBytes + kIcrcBytes) return std::nullopt;
  return number_of(take<WireBth>(bytes).qpn);
}

std::span<const std::byte> peek_ud_payload(std::span<const std::byte> bytes) {
  const bool immediate = !bytes.empty() && std::to_integer<int>(bytes[0]) == kUdSendImmediate;
  const std::size_t head = kBthBytes + kDethBytes + (immediate ? kImmDtBytes : 0);
  return bytes.size() < head ? std::span<const std::byte>() : bytes.subspan(head);
}

std::span<const std::byte> packet_in_send(std::span<const std::byte> payload) {
  if (payload.size() < kRoceLeadBytes) return {};
  const auto lead = payload.first(kRoceLeadBytes);
  const bool zero =
      std::all_of(lead.begin(), lead.end(), [](std::byte b) { return b == std::byte{0}; });
  return zero ? payload.subspan(kRoceLeadBytes) : std::span<const std::byte>();
}

std::size_t write_roce(const RoceHeaders& headers, std::span<std::byte> out) {
  const auto* const shape = roce_shape(headers.bth.opcode);
  if (!shape || out.size() < shape->header_bytes()) return 0;
  put_bth(out, headers.bth);
  if (shape->deth) put(out, WireDeth{headers.deth.qkey, headers.deth.source_qpn & kMaxQpn});
  if (shape->reth) put_reth(out, headers.reth);
  if (shape->aeth)
    put(out, be32(std::uint32_t{headers.aeth.syndrome} << 24 | (headers.aeth.msn & kMaxQpn)));
  if (shape->immediate) put(out, be32(headers.immediate));
  return shape->header_bytes();
}

std::uint32_t icrc_of(std::span<const std::byte> ip_packet) {
  constexpr std::byte kMasked{0xFF};
  std::array<std::byte, kLocalRouteBytes + kIpUdpBytes + kBthBytes> head;
  std::memset(head.data(), 0xFF, kLocalRouteBytes);
  const auto masked = std::span(head).subspan(kLocalRouteBytes);
  std::memcpy(masked.data(), ip_packet.data(), masked.size());
  for (const std::size_t at : {kTosAt, kTtlAt, kIpChecksumAt, kIpChecksumAt + 1, kUdpChecksumAt,
                               kUdpChecksumAt + 1, kCongestionAt})
    masked[at] = kMasked;
  const std::size_t behind = ip_packet.size() - masked.size() - kIcrcBytes;
  return crc32(ip_packet.subspan(masked.size(), behind), crc32(head));
}

// The CRC's polynomial is sent with its lowest coefficient last: as a little-endian number.
bool icrc_ok(std::span<const std::byte> ip_packet) {
  std::uint32_t carried = 0;
  const auto tail = ip_packet.last(kIcrcBytes);
  for (std::size_t i = 0; i < kIcrcBytes; ++i)
    carried |= std::to_integer<std::uint32_t>(tail[i]) << (8 * i);
  return carried == icrc_of(ip_packet);
}

void seal_icrc(std::span<std::byte> ip_packet) {
  const std::uint32_t icrc = icrc_of(ip_packet);
  const auto tail = ip_packet.last(kIcrcBytes);
  for (std::size_t i = 0; i < kIcrcBytes; ++i) tail[i] = static_cast<std::byte>(icrc >> (8 * i));
}

}  // namespace tributary::wire
