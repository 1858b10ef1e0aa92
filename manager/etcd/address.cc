#include "manager/etcd/address.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "manager/pods/names.h"

namespace tributary::manager {
namespace {

constexpr std::string_view kScheme = "etcd:";
constexpr const char* kDefaultPort = ":2379";
constexpr const char* kDefaultName = "tributary";

[[noreturn]] void refuse(const std::string& address, const std::string& why) {
  throw std::invalid_argument("store '" + address + "': " + why +
                              "; allowed: etcd:HOST[:PORT],...[/NAME]");
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65'535;
}

// The colon before the port; npos: none. Those of "[2001:db8::1]" are no such colons.
std::size_t colon_of(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  return colon == std::string::npos || (bracket != std::string::npos && colon < bracket)
             ? std::string::npos
             : colon;
}

std::string endpoint_of(const std::string& host, const std::string& address) {
  const std::size_t colon = colon_of(host);
  if (host.empty() || colon == 0) refuse(address, "a host has no name");
  if (std::any_of(host.begin(), host.end(), [](unsigned char c) { return c <= ' ' || c > '~'; }))
    refuse(address, "'" + host + "' is no host");
  if (colon == std::string::npos) return host + kDefaultPort;
  if (host.find(':') != colon && host.front() != '[')
    refuse(address, "'" + host + "' has several colons; an IPv6 address is in brackets");
  if (!is_port(std::string_view(host).substr(colon + 1)))
    refuse(address, "'" + host + "' has no port from 1 to 65535");
  return host;
}

}  // namespace

bool is_etcd_address(const std::string& address) {
  return address.starts_with(kScheme);
}

EtcdAddress parse_etcd_address(const std::string& address) {
  if (!is_etcd_address(address)) refuse(address, "is no etcd");
  std::string hosts = address.substr(kScheme.size());
  std::string name = kDefaultName;
  if (const std::size_t slash = hosts.find('/'); slash != std::string::npos) {
    name = hosts.substr(slash + 1);
    hosts.resize(slash);
    if (!is_name(name)) refuse(address, "'" + name + "' is no name (" + kAllowedNames + ")");
  }
  std::vector<std::string> parts;
  boost::split(parts, hosts, boost::is_any_of(","));
  EtcdAddress parsed;
  for (const std::string& host : parts) parsed.endpoints.push_back(endpoint_of(host, address));
  parsed.prefix = name + "/";
  return parsed;
}

}  // namespace tributary::manager
