// The peers of a switch that are behind a router, and the way there. All other peers are on the
// link: reached at the address in their own frames, or the one that follows from their IP address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tributary::config {

inline constexpr std::size_t kMaxRoutes = 16;

// An IPv4 address in host order, and how many of its bits count; the others are 0.
struct Ipv4Prefix {
  std::uint32_t address = 0;
  std::uint8_t bits = 0;

  [[nodiscard]] bool contains(std::uint32_t ipv4) const {
    return bits == 0 || ((ipv4 ^ address) >> (32 - bits)) == 0;
  }
  bool operator==(const Ipv4Prefix&) const = default;
};

struct RouteConfig {
  Ipv4Prefix to;
  std::optional<std::uint32_t> via;  // the router's address; none: `to` is on the link
  std::string port;                  // the port that leads to the router

  bool operator==(const RouteConfig&) const = default;
};

// The route with the longest prefix that contains the address; nullptr if there is none.
const RouteConfig* find_route(std::span<const RouteConfig> routes, std::uint32_t ipv4);
// That route if it leads to a router; nullptr if the address is on the link.
const RouteConfig* route_through_router(std::span<const RouteConfig> routes, std::uint32_t ipv4);

}  // namespace tributary::config
