// RoCEv2 (InfiniBand Architecture volume 1, annex A17): the transport headers in a UDP payload at
// port 4791, and the invariant CRC behind it.
//
//   BTH 12 │ by opcode: DETH 8, RETH 16, AETH 4, ImmDt 4 │ payload │ pad 0-3 │ ICRC 4
//
// parse_roce() is the only way in: no part of a packet is used before it is checked. All fields are
// big-endian but the ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/drop_reason.h"

namespace tributary::wire {

inline constexpr std::uint16_t kRocePort = 4791;
inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kDethBytes = 8;
inline constexpr std::size_t kRethBytes = 16;
inline constexpr std::size_t kAethBytes = 4;
inline constexpr std::size_t kImmDtBytes = 4;
inline constexpr std::size_t kIcrcBytes = 4;
// All bytes of a SEND on a UD queue pair but its payload.
inline constexpr std::size_t kUdOverheadBytes = kBthBytes + kDethBytes + kIcrcBytes;
// A verbs consumer's receive buffer on a UD queue pair has this much in front of the payload.
inline constexpr std::size_t kGrhBytes = 40;

// Zero bytes in front of an aggregation header in a RoCEv2 payload: 64 bytes precede the elements.
inline constexpr std::size_t kRoceLeadBytes = 10;

inline constexpr std::uint16_t kDefaultPkey = 0xFFFF;   // the partition of all, full member
inline constexpr std::uint32_t kGeneralServicesQp = 1;  // management datagrams
inline constexpr std::uint32_t kGeneralServicesQkey = 0x80010000;
inline constexpr std::uint32_t kMaxQpn = 0xFFFFFF;

// The queue pair of a job at a switch. Jobs of a switch differ in their low 16 bits already.
constexpr std::uint32_t job_qpn(std::uint32_t job) {
  return 0x800000u | (job & 0x7FFFFFu);
}

// The upper three bits of an opcode.
enum class RoceTransport : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3 };
// The lower five bits.
enum class RoceOperation : std::uint8_t {
  send_first = 0,
  send_middle,
  send_last,
  send_last_immediate,
  send_only,
  send_only_immediate,
  write_first,
  write_middle,
  write_last,
  write_last_immediate,
  write_only,
  write_only_immediate,
  read_request,
  read_response_first,
  read_response_middle,
  read_response_last,
  read_response_only,
  acknowledge,
  atomic_acknowledge,
  compare_swap,
  fetch_add,
};
constexpr std::uint8_t roce_opcode(RoceTransport transport, RoceOperation operation) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(transport) << 5 |
                                   static_cast<unsigned>(operation));
}
inline constexpr std::uint8_t kUdSend = roce_opcode(RoceTransport::ud, RoceOperation::send_only);
inline constexpr std::uint8_t kUdSendImmediate =
    roce_opcode(RoceTransport::ud, RoceOperation::send_only_immediate);
inline constexpr std::uint8_t kCnp = 0x81;  // congestion notification packet

struct Bth {
  std::uint8_t opcode = kUdSend;
  bool solicited = false;
  bool migrated = true;
  std::uint8_t pad = 0;  // bytes behind the payload
  std::uint16_t pkey = kDefaultPkey;
  bool fecn = false;
  bool becn = false;
  std::uint32_t qpn = 0;  // destination, 24 bits
  bool acknowledge = false;
  std::uint32_t psn = 0;  // 24 bits
  bool operator==(const Bth&) const = default;
};
struct Deth {
  std::uint32_t qkey = 0;
  std::uint32_t source_qpn = 0;  // 24 bits
  bool operator==(const Deth&) const = default;
};
struct Reth {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
  bool operator==(const Reth&) const = default;
};
struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;  // 24 bits
  bool operator==(const Aeth&) const = default;
};

// The extended headers that an opcode has.
struct RoceShape {
  bool deth = false;
  bool reth = false;
  bool aeth = false;
  bool immediate = false;
  bool payload = false;
  [[nodiscard]] constexpr std::size_t header_bytes() const {
    return kBthBytes + (deth ? kDethBytes : 0) + (reth ? kRethBytes : 0) + (aeth ? kAethBytes : 0) +
           (immediate ? kImmDtBytes : 0);
  }
};
// nullptr: reserved, of a transport that RoCE does not have, or an atomic operation.
const RoceShape* roce_shape(std::uint8_t opcode);

struct RoceView {
  Bth bth;
  RoceShape shape;
  Deth deth;  // where the shape has it, as are the others
  Reth reth;
  Aeth aeth;
  std::uint32_t immediate = 0;
  std::span<const std::byte> payload;  // without pad and ICRC
};
// `udp_payload` is trimmed to the UDP length. Returns none, and `view` is the packet, its ICRC
// unchecked; else `view` may hold anything, but its BTH after rdma_opcode.
DropReason parse_roce(std::span<const std::byte> udp_payload, RoceView& view);

// The destination queue pair, before anything else is checked. nullopt: no complete packet.
std::optional<std::uint32_t> peek_qpn(std::span<const std::byte> udp_payload);
// A SEND's payload on a UD queue pair, before anything else is checked; empty for other packets.
std::span<const std::byte> peek_ud_payload(std::span<const std::byte> udp_payload);

// The aggregation packet in a SEND's payload, behind the zero bytes; empty: there is none.
std::span<const std::byte> packet_in_send(std::span<const std::byte> payload);

// Pad bytes behind a payload of so many bytes.
constexpr std::uint8_t roce_pad(std::size_t payload_bytes) {
  return static_cast<std::uint8_t>((4 - payload_bytes % 4) % 4);
}

// Writes the headers that the opcode of `bth` has. Returns their bytes; 0 if `out` is too small or
// the opcode is none.
struct RoceHeaders {
  Bth bth;
  Deth deth = {};
  Reth reth = {};
  Aeth aeth = {};
  std::uint32_t immediate = 0;
};
std::size_t write_roce(const RoceHeaders& headers, std::span<std::byte> out);

// The ICRC of an IPv4 packet with UDP and a whole RoCE packet in it; the last four bytes, the ICRC
// itself, are not looked at. The caller has checked that IPv4 has no options and that the packet is
// complete.
std::uint32_t icrc_of(std::span<const std::byte> ip_packet);
// True if the packet's ICRC is right.
bool icrc_ok(std::span<const std::byte> ip_packet);
// Writes it.
void seal_icrc(std::span<std::byte> ip_packet);

}  // namespace tributary::wire
