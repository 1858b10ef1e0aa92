// The device arguments of a memif server.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "dataplane/frame/devargs.h"

namespace tributary::dataplane {

struct MemifSettings {
  std::string device;    // its name
  std::string socket;    // a path, or the name of an abstract socket
  bool abstract = true;  // as DPDK's driver has it
  std::uint32_t id = 0;
  std::array<char, 24> secret{};  // all zero: none
  std::uint32_t per_user = 0;     // ports of the socket that one user's clients may have; 0: all
};

// True for net_memif with role=server.
bool serves_memif(const Devargs& device);
std::string memif_socket(const Devargs& device);
// Throws std::invalid_argument that names the argument and the values that it may have.
MemifSettings memif_settings(const Devargs& device);

}  // namespace tributary::dataplane
