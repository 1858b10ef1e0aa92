// Nodes and their devices as their agents report them, and what is in use of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::manager {

// A port of a switch is a device of kPortKind, named so and by its worker of the topology.
inline constexpr const char* kPortPrefix = "port:";

struct Taint {
  std::string key = {};
  std::string value = {};
  std::string effect = {};  // "NoSchedule" or "NoExecute"

  bool operator==(const Taint&) const = default;
};

struct Device {
  std::string name = {};  // unique on its node: "npu0"
  std::string kind = {};  // vendor/kind: "example.com/npu"
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  double load = 0;              // used share, 0 to 1
  std::string problem = {};     // why it cannot be used; empty: it can
  std::string claimed_by = {};  // instance of a pod; empty: free

  bool operator==(const Device&) const = default;
};

struct Node {
  std::string name = {};
  std::string leaf = {};  // switch that it is attached to; empty: unknown
  bool ready = false;
  std::vector<Taint> taints = {};
  std::uint64_t cpu_millis = 0;  // for pods
  std::uint64_t memory_bytes = 0;
  double cpu_load = 0;                // used share of the CPUs
  std::uint64_t cpu_millis_used = 0;  // by the requests of pods
  std::uint64_t memory_used = 0;
  std::vector<Device> devices = {};
};

}  // namespace tributary::manager
