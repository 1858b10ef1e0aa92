#include "pool/store/redirect_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

namespace tributary::pool {
namespace {

// 0.0.0.0/8 reaches this host, too.
HostPlace place_of_ipv4(std::uint32_t address) {
  const std::uint32_t first = address >> 24;
  if (first == 127 || first == 0) return HostPlace::loopback;
  return address >> 16 == 0xA9FE ? HostPlace::link_local : HostPlace::elsewhere;
}

HostPlace place_of_ipv6(const in6_addr& address) {
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return HostPlace::link_local;
  if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address))
    return HostPlace::loopback;
  if (!IN6_IS_ADDR_V4MAPPED(&address) && !IN6_IS_ADDR_V4COMPAT(&address))
    return HostPlace::elsewhere;
  std::uint32_t mapped = 0;
  std::memcpy(&mapped, address.s6_addr + 12, sizeof mapped);
  return place_of_ipv4(ntohl(mapped));
}

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const bytes =
      address.sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (inet_ntop(address.sa_family, bytes, text.data(), text.size()) == nullptr) return "unknown";
  return text.data();
}

}  // namespace

HostPlace place_of(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return place_of_ipv4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  if (address.sa_family == AF_INET6)
    return place_of_ipv6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return HostPlace::elsewhere;
}

HostPlace place_of(const std::string& address) {
  in_addr ipv4{};
  if (inet_pton(AF_INET, address.c_str(), &ipv4) == 1) return place_of_ipv4(ntohl(ipv4.s_addr));
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &ipv6) == 1)
    return place_of_ipv6(ipv6);
  return HostPlace::elsewhere;
}

bool RedirectGuard::allow(HostPlace place, const std::string& address) {
  if (place == HostPlace::elsewhere || place == *origin_) return true;
  refusal_ = std::string("redirects to ") + address + ", a " +
             (place == HostPlace::loopback ? "loopback" : "link-local") +
             " address; allowed: others, or a server that is itself at one";
  return false;
}

bool RedirectGuard::may_connect(const sockaddr& address) {
  return !origin_ || allow(place_of(address), text_of(address));
}

bool RedirectGuard::may_ask(const std::string& address) {
  if (!origin_) origin_ = place_of(address);
  return allow(place_of(address), address);
}

}  // namespace tributary::pool
