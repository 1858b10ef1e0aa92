// Nodes with devices for tests of the scheduler.
#pragma once

#include <string>
#include <vector>

#include "manager/pods/scheduler.h"

namespace tributary::manager {

inline constexpr const char* kNpu = "example.com/npu";

inline Device npu(const std::string& name, double load = 0,
                  std::uint64_t free_bytes = 16ull << 30) {
  return {.name = name,
          .kind = kNpu,
          .memory_bytes = 16ull << 30,
          .free_bytes = free_bytes,
          .load = load};
}

inline Node node(const std::string& name, std::vector<Device> devices,
                 const std::string& leaf = "A") {
  return {.name = name,
          .leaf = leaf,
          .ready = true,
          .cpu_millis = 4000,
          .memory_bytes = 8ull << 30,
          .devices = std::move(devices)};
}

inline Ask npu_ask(const std::string& pod, std::uint32_t count = 1) {
  Ask ask;
  ask.pod = pod;
  ask.devices[kNpu] = count;
  return ask;
}

}  // namespace tributary::manager
