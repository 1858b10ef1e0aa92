// A node's memory file, mapped by loaders of the same machine; for choose.cc.
//
//   loader ──key──▶ abstract UNIX socket of the node ──descriptor, read-only──▶ loader maps it
//
// The connection stays open as long as the node serves. A reader's mapping outlives the node:
// its later reads are checked as before, and the control connection shows that the node is
// gone.
#pragma once

#include <sys/un.h>

#include "core/time.h"
#include "pool/transport/transport.h"

namespace tributary::pool {

inline constexpr int kMappedHandshakeMs = 2000;

// Address of an abstract socket; `name` without the leading zero. Throws TransportError if it is
// empty or too long.
struct AbstractAddress {
  explicit AbstractAddress(std::span<const std::byte> name);
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t length = 0;
};

struct MappedLimits {
  std::size_t connections = 1024;
  Duration key_time = Duration::ms(kMappedHandshakeMs);  // to send the key
};
// Where all places are taken, a newcomer replaces the oldest connection that has not sent the key.
std::unique_ptr<MemoryServer> serve_by_mapping(const LocalMemory& memory,
                                               const MappedLimits& limits = {});
std::unique_ptr<NodeReader> read_by_mapping(const RemoteMemory& memory);

}  // namespace tributary::pool
