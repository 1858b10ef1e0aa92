#include "config/plan/device_claims.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace tributary::config {
namespace {

// What the drivers take where the arguments do not say (DPDK 22.11).
constexpr std::string_view kMemifSocket = "/run/memif.sock";
constexpr std::size_t kMostXdpQueues = 1024;

// What is claimed is told apart by these texts: nothing is shortened.

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
  return device.driver == "net_memif" && device.get("role") == "server";
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
  const std::string& driver = device.driver;
  if (serves_memif(device))
    return {{socket_text(device.get("socket").value_or(kMemifSocket)) + " with id " +
             std::to_string(device.number("id", 0))}};
  const auto interface = device.get("iface");
  if (!interface || interface->empty()) return {};
  if (driver == "net_vhost") return {{socket_text(*interface)}};
  if (driver == "net_af_xdp") return xdp_queues(device, *interface);
  // Of a tap called "t%d" the kernel makes another name each time.
  if (driver == "net_af_packet" || driver == "net_pcap" ||
      (driver == "net_tap" && interface->find('%') == std::string_view::npos))
    return {{interface_text(*interface), false}};
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
  if (device.driver == "net_vhost" && device.get("client").value_or("0") != "1")
    return named("iface");
  return std::nullopt;
}

}  // namespace tributary::config
