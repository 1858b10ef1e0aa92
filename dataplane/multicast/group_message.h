// IGMP and MLD messages, as a snooping switch reads them: queries, and reports of membership.
//
//   IGMPv1, v2, v3 (RFC 2236, 3376) behind IPv4; MLDv1, v2 (RFC 2710, 3810) behind IPv6 and its
//   hop-by-hop options
//
// Pure. A message is whole, and its checksum right, or it is malformed. The check reads every byte,
// so a receiver that limits its work asks for most_records() first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/net/frame.h"

namespace tributary::dataplane {

enum class GroupKind : std::uint8_t { none, malformed, query, report };

struct GroupMessage {
  GroupKind kind = GroupKind::none;
  bool ipv6 = false;
  bool from_router = false;  // of a query: its sender has an address, and so is a querier
  std::span<const std::byte> packet;
  std::span<const std::byte> body;  // of IGMP or MLD

  // Upper limit of a report's records, from its length; at least one.
  [[nodiscard]] std::uint32_t most_records() const;
};

// The kind of a frame to a group, by its headers; `linear`: all of it is in this segment.
GroupMessage find_group_message(const wire::EthernetView& frame, bool linear);
// A query or a report that was found may be read: its checksum and its records are right.
bool is_sound(const GroupMessage& message);
// Both steps in one; a message that is not sound is malformed.
GroupMessage read_group_message(const wire::EthernetView& frame, bool linear);

// One group of a report, by the address to which its frames go.
struct GroupRecord {
  wire::MacAddress group{};
  bool wanted = false;
};
// Records of a report that is sound, one after the other.
class GroupRecords {
 public:
  explicit GroupRecords(const GroupMessage& report);
  // False at the end.
  bool next(GroupRecord& record);

 private:
  std::span<const std::byte> rest_;
  std::size_t left_ = 0;
  bool ipv6_;
  bool listed_ = false;  // of IGMPv3 or MLDv2
};

// 33:33 and the low 32 bits of the group (RFC 2464 section 7).
wire::MacAddress multicast_mac6(std::span<const std::byte, 16> group);

}  // namespace tributary::dataplane
