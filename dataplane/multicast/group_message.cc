#include "dataplane/multicast/group_message.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/checksum.h"
#include "core/net/read.h"

namespace tributary::dataplane {
namespace {

using wire::u16;
using wire::u8;

constexpr std::uint8_t kProtocolIgmp = 2;
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::size_t kIgmpBytes = 8;
constexpr std::size_t kMldBytes = 24;
constexpr std::size_t kListBytes = 8;    // in front of the records of IGMPv3 and MLDv2
constexpr std::size_t kRecordBytes = 4;  // in front of a record's address

enum : std::uint8_t {
  kIgmpQuery = 0x11,
  kIgmpReport1 = 0x12,
  kIgmpReport2 = 0x16,
  kIgmpLeave = 0x17,
  kIgmpReport3 = 0x22,
  kMldQuery = 130,
  kMldReport1 = 131,
  kMldDone = 132,
  kMldReport2 = 143,
};
// Record types: what the sender wants of the sources that the record lists.
enum : std::uint8_t { kIsInclude = 1, kToInclude = 3, kBlock = 6 };

bool any_set(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes)
    if (byte != std::byte{0}) return true;
  return false;
}

bool is_group(std::span<const std::byte> address) {
  return address.size() == 4 ? u8(address, 0) >> 4 == 14 : u8(address, 0) == 0xFF;
}

// Length of the record at the beginning; 0: it is cut short, or of no group.
std::size_t record_bytes(std::span<const std::byte> rest, std::size_t address_bytes) {
  if (rest.size() < kRecordBytes + address_bytes) return 0;
  const std::size_t bytes =
      kRecordBytes + address_bytes + u16(rest, 2) * address_bytes + u8(rest, 1) * std::size_t{4};
  return bytes <= rest.size() && is_group(rest.subspan(kRecordBytes, address_bytes)) ? bytes : 0;
}

bool records_are_whole(std::span<const std::byte> body, std::size_t address_bytes) {
  auto rest = body.subspan(kListBytes);
  for (std::size_t left = u16(body, 6); left > 0; --left) {
    const std::size_t bytes = record_bytes(rest, address_bytes);
    if (bytes == 0) return false;
    rest = rest.subspan(bytes);
  }
  return true;
}

GroupMessage malformed(bool ipv6) {
  return {GroupKind::malformed, ipv6, false, {}, {}};
}

GroupMessage find_igmp(std::span<const std::byte> packet) {
  const std::size_t header = packet.size() < wire::kIpv4Bytes ? 0 : (u8(packet, 0) & 15u) * 4;
  if (packet.size() < wire::kIpv4Bytes) return malformed(false);
  if (u8(packet, 9) != kProtocolIgmp) return {};
  const std::size_t total = u16(packet, 2);
  if (u8(packet, 0) >> 4 != 4 || header < wire::kIpv4Bytes || total < header + kIgmpBytes ||
      total > packet.size() || (u16(packet, 6) & 0x3FFF) != 0 ||
      wire::ones_complement_sum(packet.first(header)) != 0xFFFF)
    return malformed(false);
  const auto body = packet.subspan(header, total - header);
  switch (u8(body, 0)) {
    case kIgmpQuery: return {GroupKind::query, false, any_set(packet.subspan(12, 4)), packet, body};
    case kIgmpReport1:
    case kIgmpReport2:
    case kIgmpLeave:
    case kIgmpReport3: return {GroupKind::report, false, false, packet, body};
    default: return {};  // DVMRP, PIMv1 and others
  }
}

// Sum of what ICMPv6's checksum covers (RFC 4443 section 2.3).
std::uint16_t icmpv6_sum(std::span<const std::byte> packet, std::span<const std::byte> body) {
  const std::array<wire::be32, 2> tail = {wire::be32(static_cast<std::uint32_t>(body.size())),
                                          wire::be32(kIcmpv6)};
  std::uint16_t sum = wire::ones_complement_sum(packet.subspan(8, 32));
  sum = wire::ones_complement_add(sum, wire::ones_complement_sum(std::as_bytes(std::span(tail))));
  return wire::ones_complement_add(sum, wire::ones_complement_sum(body));
}

GroupMessage find_mld(std::span<const std::byte> packet) {
  if (packet.size() < wire::kIpv6Bytes) return malformed(true);
  // MLD has hop-by-hop options with a router alert. A packet without is not MLD.
  if (u8(packet, 6) != kHopByHop) return {};
  const std::size_t total = wire::kIpv6Bytes + u16(packet, 4);
  if (u8(packet, 0) >> 4 != 6 || total > packet.size() || total < wire::kIpv6Bytes + 8)
    return malformed(true);
  const std::size_t options = (u8(packet, wire::kIpv6Bytes + 1) + 1u) * 8;
  if (u8(packet, wire::kIpv6Bytes) != kIcmpv6) return {};
  if (total < wire::kIpv6Bytes + options + kListBytes) return malformed(true);
  const auto body = packet.subspan(wire::kIpv6Bytes + options, total - wire::kIpv6Bytes - options);
  const std::uint8_t type = u8(body, 0);
  if (type != kMldQuery && type != kMldReport1 && type != kMldDone && type != kMldReport2)
    return {};
  if (u8(packet, 7) != 1 || (type != kMldReport2 && body.size() < kMldBytes))
    return malformed(true);
  if (type == kMldQuery)
    return {GroupKind::query, true, any_set(packet.subspan(8, 16)), packet, body};
  return {GroupKind::report, true, false, packet, body};
}

constexpr std::size_t address_bytes_of(bool ipv6) {
  return ipv6 ? 16 : 4;
}
// IGMPv3 or MLDv2: the report has a list of records.
bool is_list(const GroupMessage& report) {
  return u8(report.body, 0) == (report.ipv6 ? kMldReport2 : kIgmpReport3);
}

wire::MacAddress mac_of(std::span<const std::byte> group) {
  if (group.size() == 16) return multicast_mac6(group.first<16>());
  wire::be32 address;
  std::memcpy(&address, group.data(), sizeof address);
  return wire::multicast_mac(address);
}

}  // namespace

wire::MacAddress multicast_mac6(std::span<const std::byte, 16> group) {
  wire::MacAddress mac = {0x33, 0x33};
  std::memcpy(&mac[2], &group[12], 4);
  return mac;
}

std::uint32_t GroupMessage::most_records() const {
  const auto records =
      static_cast<std::uint32_t>(body.size() / (kRecordBytes + address_bytes_of(ipv6)));
  return std::max(records, 1U);
}

GroupMessage find_group_message(const wire::EthernetView& frame, bool linear) {
  const bool ipv6 = frame.ether_type == wire::kEtherTypeIpv6;
  if (!ipv6 && frame.ether_type != wire::kEtherTypeIpv4) return {};
  const GroupMessage message = ipv6 ? find_mld(frame.payload) : find_igmp(frame.payload);
  // The first segment tells what the message is. None of them is so large as to need a second one.
  return message.kind == GroupKind::none || linear ? message : malformed(ipv6);
}

bool is_sound(const GroupMessage& message) {
  const auto body = message.body;
  const std::uint16_t sum =
      message.ipv6 ? icmpv6_sum(message.packet, body) : wire::ones_complement_sum(body);
  if (sum != 0xFFFF) return false;
  if (message.kind == GroupKind::query) return true;
  const std::size_t address_bytes = address_bytes_of(message.ipv6);
  if (is_list(message)) return records_are_whole(body, address_bytes);
  return is_group(body.subspan(message.ipv6 ? 8 : 4, address_bytes));
}

GroupMessage read_group_message(const wire::EthernetView& frame, bool linear) {
  const GroupMessage message = find_group_message(frame, linear);
  const bool is_one = message.kind == GroupKind::query || message.kind == GroupKind::report;
  return !is_one || is_sound(message) ? message : malformed(message.ipv6);
}

GroupRecords::GroupRecords(const GroupMessage& report) : ipv6_(report.ipv6) {
  if (report.kind != GroupKind::report) return;
  listed_ = is_list(report);
  left_ = listed_ ? u16(report.body, 6) : 1;
  rest_ = listed_ ? report.body.subspan(kListBytes) : report.body;
}

bool GroupRecords::next(GroupRecord& record) {
  const std::size_t address_bytes = address_bytes_of(ipv6_);
  for (; left_ > 0; --left_) {
    const std::uint8_t type = u8(rest_, 0);
    const auto address = rest_.subspan(listed_ || !ipv6_ ? 4 : 8, address_bytes);
    record.group = mac_of(address);
    if (!listed_) {
      record.wanted = type != kIgmpLeave && type != kMldDone;
      --left_;
      return true;
    }
    const bool no_sources = u16(rest_, 2) == 0;
    rest_ = rest_.subspan(record_bytes(rest_, address_bytes));
    if (type == kBlock) continue;  // who blocks some sources says nothing of the others
    // To want data from no source is to leave.
    record.wanted = !(no_sources && (type == kIsInclude || type == kToInclude));
    --left_;
    return true;
  }
  return false;
}

}  // namespace tributary::dataplane
