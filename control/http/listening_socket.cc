#include "control/http/listening_socket.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tributary::control {
namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

[[noreturn]] void fail(const std::string& listen) {
  throw std::runtime_error("'" + listen + "' is no address; allowed: IPV4:PORT, [IPV6]:PORT");
}

std::uint16_t port_of(const std::string& listen, const std::string& text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) fail(listen);
  return htons(port);
}

Address address_of(const std::string& listen) {
  Address address;
  const std::size_t colon = std::min(listen.rfind(':'), listen.size() - 1);
  if (listen.empty() || listen[colon] != ':') fail(listen);
  const std::uint16_t port = port_of(listen, listen.substr(colon + 1));
  std::string host = listen.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
    host = host.substr(1, host.size() - 2);
    if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) fail(listen);
    std::memcpy(&address.storage, &v6, address.length = sizeof v6);
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = port;
    if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) fail(listen);
    std::memcpy(&address.storage, &v4, address.length = sizeof v4);
  }
  return address;
}

[[noreturn]] void fail(const std::string& listen, int error) {
  std::string text = listen + ": cannot bind: " + std::generic_category().message(error);
  if (error == EADDRINUSE) text += "; another process listens there";
  if (error == EADDRNOTAVAIL) text += "; this machine has no such address";
  if (error == EAFNOSUPPORT) text += "; the kernel has no IPv6";
  if (error == EACCES) text += "; ports below 1024 need CAP_NET_BIND_SERVICE";
  throw std::runtime_error(text);
}

}  // namespace

ListeningSocket::ListeningSocket(const std::string& listen) {
  const Address address = address_of(listen);
  fd_ = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  if (fd_ >= 0 && ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      ::bind(fd_, reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0 &&
      ::listen(fd_, SOMAXCONN) == 0)
    return;
  const int error = errno;
  close();
  fail(listen, error);
}

void ListeningSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

int ListeningSocket::release() {
  return std::exchange(fd_, -1);
}

int ListeningSocket::port() const {
  Address bound;
  bound.length = sizeof bound.storage;
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  // sin6_port has the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
}

}  // namespace tributary::control
