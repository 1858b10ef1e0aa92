// The fields that access control looks at, read from a frame's headers and checked on the way.
//
//   Ethernet ─▶ one VLAN tag ─▶ IPv4            ─▶ ports of TCP, UDP, SCTP, UDP-Lite
//                           └─▶ IPv6, extensions ┘
//                           └─▶ anything else: its type
//
// Pure. Malformed IP is no match for "other": it would pass under rules that are not meant for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "core/net/byte_order.h"
#include "core/net/frame.h"

namespace tributary::dataplane {

// As rte_acl reads it: after the first byte, groups of four; big endian.
struct AclKey {
  std::uint8_t protocol = 0;
  std::uint8_t unused[3] = {};
  wire::be16 ingress;
  wire::be16 vlan;
  wire::be16 source_port;
  wire::be16 destination_port;
  wire::be32 source[4];  // IPv4: the first
  wire::be32 destination[4];
  wire::be16 ether_type;
  wire::be16 unused_too;
};
static_assert(sizeof(AclKey) == 48);

enum class AclKind : std::uint8_t { ipv4, ipv6, other };

struct AclFields {
  AclKind kind = AclKind::other;
  DropReason malformed = DropReason::none;
};

// Longer headers count as malformed; no legitimate header is as long.
inline constexpr std::size_t kAclHeaderBytes = 256;

// Fills all of `key` but ingress and VLAN. `frame` is parsed already; `missing` bytes of it lie
// beyond its payload, in other segments.
AclFields read_acl_key(const wire::EthernetView& frame, std::size_t missing, AclKey& key);

}  // namespace tributary::dataplane
