#include "config/model/route.h"

namespace tributary::config {

const RouteConfig* find_route(std::span<const RouteConfig> routes, std::uint32_t ipv4) {
  const RouteConfig* best = nullptr;
  for (const RouteConfig& route : routes)
    if (route.to.contains(ipv4) && (best == nullptr || route.to.bits > best->to.bits))
      best = &route;
  return best;
}

const RouteConfig* route_through_router(std::span<const RouteConfig> routes, std::uint32_t ipv4) {
  const RouteConfig* const route = find_route(routes, ipv4);
  return route != nullptr && route->via ? route : nullptr;
}

}  // namespace tributary::config
