// A container of a pod as libpod's SpecGenerator. Pure.
//
//   image rootfs:NAME   the folder ROOTS/NAME, under an overlay: the container cannot change it
//   devices             those of the pod, shared out to its containers by kind, as CDI names
//   job                 the first container of a pod with a seat is a rank: variables as `tributary
//                       run` sets them, and the folder of its port's socket, at kPortFolder
//   rights              no new privileges, few capabilities, no root of the host
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/agentd/pods/work.h"

namespace tributary::agentd {

// Where a rank finds the socket of its port.
inline constexpr const char* kPortFolder = "/run/tributary/port";

struct SpecSettings {
  std::string node;
  std::string roots;                // folder of root file systems
  std::string network = "none";     // "none", "bridge" or "ns:PATH"
  std::uint64_t pids = 1024;        // processes and threads of a container
  std::uint64_t open_files = 1024;  // this process may not grant more than it has
  std::uint64_t processes = 4096;
  std::map<std::string, std::string> devices;  // kind by name of the node's devices
};

// "NODE.DEVICE", by which CDI files name a device.
std::string cdi_name(const std::string& node, const std::string& device);

// Throws std::invalid_argument for a device that the node does not have, and for a port that is no
// memif.
nlohmann::json container_spec(const WantedPod& wanted, std::size_t container,
                              const SpecSettings& settings);

}  // namespace tributary::agentd
