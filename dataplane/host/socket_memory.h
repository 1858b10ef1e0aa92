// While it lives, memory that this thread touches for the first time comes from one socket, as long
// as that has some: what a packet loop will use is built by another thread, anywhere.
//
// Memory that malloc has had before stays where it is; what a loop is given at start is new. Where
// the kernel refuses (containers that may not set policies), memory comes from where the thread is,
// as without this.
#pragma once

#include <array>

#include "config/plan/numa_plan.h"

namespace tributary::dataplane {

class SocketMemory {
 public:
  // config::kAnySocket: nothing changes.
  explicit SocketMemory(int socket);
  ~SocketMemory();
  SocketMemory(const SocketMemory&) = delete;
  SocketMemory& operator=(const SocketMemory&) = delete;

  // Whether the kernel does it.
  [[nodiscard]] bool set() const { return set_; }

 private:
  static constexpr std::size_t kMostSockets = 1024;  // as the kernel is built at most
  using Sockets = std::array<unsigned long, kMostSockets / (8 * sizeof(unsigned long))>;

  int mode_before_ = 0;
  Sockets before_{};
  bool set_ = false;
};

}  // namespace tributary::dataplane
