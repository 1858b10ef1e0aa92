// The load of each group of pods: CPUs of its containers together, and the mean load of its
// devices, by what the nodes' agents reported last, a second apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manager/pods/pod_book.h"

namespace tributary::manager {

struct GroupLoad {
  std::string name;
  std::uint32_t min_count = 1;
  std::size_t pods = 0;
  std::size_t running = 0;
  std::optional<double> cpu;   // CPUs; nullopt: of a container that runs it is not known yet
  std::size_t devices = 0;     // that its pods hold, ports of switches left out
  std::optional<double> load;  // mean used share of those devices; nullopt: it has none

  bool operator==(const GroupLoad&) const = default;
};

// All groups, by name. A pod that has ended uses nothing.
std::vector<GroupLoad> group_loads(const PodBook& book);

}  // namespace tributary::manager
