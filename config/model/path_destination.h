// A destination that is pinned to a port: a MAC address, an IP address, or an IP prefix. Frames to
// it leave through that port, whatever the forwarding database says.
#pragma once

#include <cstddef>

#include "config/model/acl.h"
#include "core/net/frame.h"

namespace tributary::config {

inline constexpr std::size_t kMaxPortPaths = 256;

struct PathDestination {
  bool is_mac = false;
  wire::MacAddress mac{};
  IpPrefix prefix{};  // unless it is a MAC address

  bool operator==(const PathDestination&) const = default;
};

// Whether the first `bits` of both are the same.
inline bool same_bits(const IpPrefix& a, const IpPrefix& b, unsigned bits) {
  for (unsigned bit = 0; bit < bits; ++bit)
    if (((a.address[bit / 8] ^ b.address[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
  return true;
}
// Whether `outer` says where frames to `inner` go, unless a longer prefix does.
inline bool contains(const PathDestination& outer, const PathDestination& inner) {
  if (outer.is_mac || inner.is_mac) return outer == inner;
  return outer.prefix.is_ipv6 == inner.prefix.is_ipv6 && outer.prefix.bits <= inner.prefix.bits &&
         same_bits(outer.prefix, inner.prefix, outer.prefix.bits);
}

}  // namespace tributary::config
