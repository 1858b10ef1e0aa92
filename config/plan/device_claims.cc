#include "config/plan/device_claims.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace tributary::config {
namespace {

// The drivers' defaults for arguments that are left out (DPDK 22.11).
constexpr std::string_view kMemifSocket = "/run/memif.sock";
constexpr std::size_t kMostXdpQueues = 1024;

// These texts identify the claimed objects: nothing may be shortened.

// "/run//a" and "/run/./a" are one file.
std::string path_of(std::string_view text) {
  return std::filesystem::path(text).lexically_normal().string();
}

std::string socket_text(std::string_view path) {
  return "socket '" + path_of(path) + "'";
}

std::string interface_text(std::string_view name) {
  return "interface '" + std::string(name) + "'";
}

bool serves_memif(const Devargs& device) {
  return device.kind->memif && device.get("role") == "server";
}

std::vector<DeviceClaim> xdp_queues(const Devargs& device, std::string_view interface) {
  std::vector<DeviceClaim> claims;
  const std::size_t first = device.number("start_queue", 0);
  const std::size_t count = std::min(device.number("queue_count", 1), kMostXdpQueues);
  for (std::size_t queue = first; queue < first + count; ++queue)
    claims.push_back({"queue " + std::to_string(queue) + " of " + interface_text(interface)});
  return claims;
}

}  // namespace

std::vector<DeviceClaim> device_claims(const Devargs& device) {
  const std::string_view interface = device.get("iface").value_or("");
  switch (device.kind->claims) {
    case Claiming::none: break;
    case Claiming::socket_and_id:
      if (!serves_memif(device)) break;
      return {{socket_text(device.get("socket").value_or(kMemifSocket)) + " with id " +
               std::to_string(device.number("id", 0))}};
    case Claiming::socket:
      if (interface.empty()) break;
      return {{socket_text(interface)}};
    case Claiming::interface_queues:
      if (interface.empty()) break;
      return xdp_queues(device, interface);
    case Claiming::interface:
      // The kernel makes a new name each time if the driver creates "t%d".
      if (interface.empty() || (device.kind->binding == Binding::creates &&
                                interface.find('%') != std::string_view::npos))
        break;
      return {{interface_text(interface), false}};
  }
  return {};
}

std::optional<std::string> contended(const Devargs& device, const Devargs& other) {
  const auto theirs = device_claims(other);
  for (const DeviceClaim& mine : device_claims(device))
    for (const DeviceClaim& claim : theirs)
      if (mine.what == claim.what && mine.opens_once && claim.opens_once) return mine.what;
  return std::nullopt;
}

std::optional<std::string> served_socket(const Devargs& device) {
  const auto named = [&](const char* key) -> std::optional<std::string> {
    const auto path = device.get(key);
    return path && !path->empty() ? std::optional<std::string>(*path) : std::nullopt;
  };
  if (serves_memif(device))
    return device.get("socket-abstract") == "no"
               ? std::optional(named("socket").value_or(std::string(kMemifSocket)))
               : std::nullopt;
  if (device.kind->vhost && device.get("client").value_or("0") != "1") return named("iface");
  return std::nullopt;
}

}  // namespace tributary::config
