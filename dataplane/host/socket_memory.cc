#include "dataplane/host/socket_memory.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tributary::dataplane {

SocketMemory::SocketMemory(int socket) {
  if (socket < 0 || socket + 1 >= static_cast<int>(kMostSockets)) return;
  // Called directly, as libnuma would serve for nothing else. The kernel takes one bit less than it
  // is told.
  if (syscall(SYS_get_mempolicy, &mode_before_, before_.data(), kMostSockets, nullptr, 0) != 0)
    return;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  Sockets sockets{};
  sockets[static_cast<std::size_t>(socket) / kBits] = 1UL << static_cast<unsigned>(socket) % kBits;
  set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, sockets.data(), kMostSockets) == 0;
}

SocketMemory::~SocketMemory() {
  if (set_) syscall(SYS_set_mempolicy, mode_before_, before_.data(), kMostSockets);
}

}  // namespace tributary::dataplane
