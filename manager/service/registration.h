// A switch's own report when its agent attends, and how it differs from the topology.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/topology/topology.h"

namespace tributary::manager {

struct SwitchRegistration {
  std::string name;
  std::uint32_t id = 0;  // 0: it does not say
  std::string address;   // IPv4
  std::vector<std::string> ports = {};
  std::string program = {};
  std::uint64_t slots = 0;
  std::uint64_t bytes = 0;
};

// How a registration differs from the topology; empty: it does not.
std::string mismatch(const config::Topology& topology, const SwitchRegistration& registration);

}  // namespace tributary::manager
