#include "worker/transport/memif_address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace tributary::worker {
namespace {

constexpr std::string_view kScheme = "memif://";

[[noreturn]] void refuse(const std::string& address, const std::string& why) {
  throw std::invalid_argument(
      "address \"" + address + "\": " + why +
      "; write memif:///SOCKET_PATH?id=N&switch=IPV4[&port=BASE_PORT]"
      "[&ip=OWN_IPV4], or without what the switch tells: id, switch and port");
}

struct Parser {
  const std::string& address;

  std::uint32_t number(std::string_view key, std::string_view text, std::uint32_t low,
                       std::uint32_t high) const {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || at != end || value < low || value > high)
      refuse(address, std::string(key) + "=" + std::string(text) + " is not a number from " +
                          std::to_string(low) + " to " + std::to_string(high));
    return value;
  }

  std::uint32_t host_ipv4(std::string_view key, std::string_view text) const {
    in_addr ip{};
    const bool valid = inet_pton(AF_INET, std::string(text).c_str(), &ip) == 1;
    const std::uint32_t value = ntohl(ip.s_addr);
    if (!valid || value == 0 || value >= 0xE0000000u)  // multicast, reserved, broadcast
      refuse(address,
             std::string(key) + "=" + std::string(text) + " is not a unicast IPv4 address");
    return value;
  }

  std::string socket_path(std::string_view path) const {
    if (path.size() < 2 || path.front() != '/')
      refuse(address, "the socket's path must be absolute (three slashes after memif:)");
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      refuse(address, "the socket's path has " + std::to_string(path.size()) + " bytes, at most " +
                          std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " are possible");
    return std::string(path);
  }
};

}  // namespace

MemifAddress parse_memif_address(const std::string& address, std::uint32_t job,
                                 std::uint32_t rank) {
  if (!address.starts_with(kScheme)) refuse(address, "does not begin with memif://");
  const Parser parser{address};
  const std::string_view rest = std::string_view(address).substr(kScheme.size());
  const std::size_t question = rest.find('?');
  MemifAddress out;
  out.socket = parser.socket_path(rest.substr(0, question));

  bool has_port = false;
  std::string_view query =
      question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : item.substr(equals + 1);
    if (key == "id") {
      out.id = parser.number(key, value, 0, std::numeric_limits<std::uint32_t>::max());
    } else if (key == "switch") {
      out.switch_ipv4 = parser.host_ipv4(key, value);
    } else if (key == "port") {
      out.base_port = static_cast<std::uint16_t>(
          parser.number(key, value, 1, 0xFFFF - (config::kMaxShards - 1)));
      has_port = true;
    } else if (key == "ip") {
      out.own_ipv4 = parser.host_ipv4(key, value);
    } else {
      refuse(address, "unknown key \"" + std::string(key) + "\"");
    }
  }
  if (out.switch_ipv4 == 0 && !has_port) out.base_port = 0;
  if (out.own_ipv4 == 0) out.own_ipv4 = derived_worker_ipv4(job, rank);
  if (out.own_ipv4 == out.switch_ipv4) refuse(address, "ip and switch are the same address");
  return out;
}

std::string ipv4_text(std::uint32_t ipv4) {
  const in_addr ip{htonl(ipv4)};
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &ip, text.data(), text.size());
  return text.data();
}

std::string mac_text(const wire::MacAddress& mac) {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
                mac[3], mac[4], mac[5]);
  return text.data();
}

}  // namespace tributary::worker
