// The interface of the kernel that a port's device opens: whether it is there, and still the one
// that was opened.
//
//   same ──interface removed, or moved to another namespace──▶ gone ──its name is back──▶ replaced
//
// A device of an interface that has been gone is deaf for good, and its driver does not say so:
// once gone, the interface is never `same` again, also when it comes back with its old index.
//
// Keeps the interface promiscuous as long as it lives, by a packet socket: the kernel ends that
// with the socket, however the process ends. The link monitor calls look().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/model/devargs.h"

namespace tributary::dataplane {

// Name of the interface that the device opens, if it is not in this network namespace; else empty.
std::string missing_interface(const config::Devargs& device);

class KernelInterface {
 public:
  // Throws std::runtime_error with what the system says when there is no such interface, its name
  // is too long for one, or the process may not open packet sockets.
  explicit KernelInterface(std::string_view name);
  ~KernelInterface();
  KernelInterface(const KernelInterface&) = delete;
  KernelInterface& operator=(const KernelInterface&) = delete;

  enum class State : std::uint8_t { same, gone, replaced };
  struct Look {
    State state = State::same;
    bool running = false;   // up, with a carrier
    std::uint32_t mtu = 0;  // 0: gone
  };
  Look look();

  // The interface takes frames for others from now on.
  void take_all_frames();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int index() const { return index_; }

 private:
  const std::string name_;
  int socket_ = -1;
  int index_ = 0;
  bool was_gone_ = false;
};

}  // namespace tributary::dataplane
