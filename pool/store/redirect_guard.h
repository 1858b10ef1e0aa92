// Decides where redirects of a store may lead: to any host but loopback and link-local ones, where
// services of this machine and of its network trust their callers. If the server that was
// asked is itself at such a place, redirects to the same kind of place are its own, and allowed.
//
// Judges the address that a connection goes to, so that no name of a host hides one.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::pool {

enum class HostPlace : std::uint8_t { elsewhere, loopback, link_local };

HostPlace place_of(const sockaddr& address);
// The same for an address in text; what is none counts as elsewhere.
HostPlace place_of(const std::string& address);

// Judges one request and its redirects.
class RedirectGuard {
 public:
  // A connection is about to be opened: before any request was sent, to the server that was asked.
  bool may_connect(const sockaddr& address);
  // A request is about to be sent to `address`; the first is the one that was asked for.
  bool may_ask(const std::string& address);
  // Why something was refused; empty: nothing was.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  bool allow(HostPlace place, const std::string& address);

  std::optional<HostPlace> origin_;  // set by the first request
  std::string refusal_;
};

}  // namespace tributary::pool
