#include "manager/listen/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tributary::manager {
namespace {

constexpr int kFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

[[noreturn]] void fail(const std::string& where, const std::string& why) {
  throw std::runtime_error("cannot listen at " + where + ": " + why);
}

[[noreturn]] void fail(const std::string& where) {
  fail(where, std::generic_category().message(errno));
}

struct Free {
  void operator()(addrinfo* all) const { ::freeaddrinfo(all); }
};
using Addresses = std::unique_ptr<addrinfo, Free>;

Addresses resolve(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) fail(address, "no address; allowed: HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) fail(address, ::gai_strerror(error));
  return Addresses(found);
}

// sin6_port has the same place.
in_port_t& port_in(sockaddr* address) {
  return reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

int port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  ::getsockname(socket, address, &length);
  return ntohs(port_in(address));
}

bool listens(int socket, const addrinfo& at) {
  const int on = 1;
  const int off = 0;
  if (at.ai_family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  // Connections that it accepts have the option, too.
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
         ::bind(socket, at.ai_addr, at.ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0;
}

}  // namespace

Listener Listener::at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    fail(path, "longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) ::unlink(path.c_str());
  Listener made;
  made.sockets_.push_back(::socket(AF_UNIX, kFlags, 0));
  if (made.sockets_[0] < 0) fail(path);
  const mode_t mask = ::umask(0117);
  const bool bound =
      ::bind(made.sockets_[0], reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  ::umask(mask);
  errno = error;
  if (!bound) fail(path);
  made.path_ = path;
  if (::listen(made.sockets_[0], SOMAXCONN) != 0) fail(path);
  return made;
}

// Leaves out addresses that this machine does not have: `localhost` may be IPv6's, too.
Listener Listener::at_address(const std::string& address) {
  const Addresses found = resolve(address);
  Listener made;
  int error = 0;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    const int socket = ::socket(at->ai_family, kFlags, 0);
    if (socket >= 0) made.sockets_.push_back(socket);
    if (made.port_ != 0) port_in(at->ai_addr) = htons(static_cast<in_port_t>(made.port_));
    if (socket >= 0 && listens(socket, *at)) {
      made.port_ = port_of(socket);
      continue;
    }
    error = errno;
    if (error != EADDRNOTAVAIL && error != EAFNOSUPPORT) fail(address);
    if (socket >= 0) made.close_last();
  }
  if (made.sockets_.empty()) fail(address, std::generic_category().message(error));
  return made;
}

void Listener::close_last() {
  ::close(sockets_.back());
  sockets_.pop_back();
}

Listener::Listener(Listener&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      sockets_(std::exchange(other.sockets_, {})),
      port_(other.port_) {}

Listener::~Listener() {
  if (!path_.empty()) ::unlink(path_.c_str());
  for (const int socket : sockets_)
    if (socket >= 0) ::close(socket);
}

}  // namespace tributary::manager
