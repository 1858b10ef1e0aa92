// The machine's properties that decide where memory is: sockets (NUMA nodes) of CPUs and network
// cards.
//
// Before DPDK starts, from the kernel's sysfs, so that it can be told how much memory to take
// where; afterwards from DPDK itself, which knows where its threads are and what its devices say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/plan/numa_plan.h"
#include "dataplane/port/port.h"

namespace tributary::dataplane {

class Sysfs {
 public:
  explicit Sysfs(std::filesystem::path root = "/sys") : root_(std::move(root)) {}

  // config::kAnySocket: of several, or it does not say.
  [[nodiscard]] int socket_of_cpus(const std::vector<int>& cpus) const;
  [[nodiscard]] int socket_of_card(const std::string& pci_address) const;
  // Bytes in free hugepages; nullopt: the kernel does not say.
  [[nodiscard]] std::optional<std::uint64_t> free_bytes(int socket) const;

 private:
  [[nodiscard]] std::filesystem::path nodes() const { return root_ / "devices/system/node"; }

  std::filesystem::path root_;
};

// `cpus`: that this process may run on.
config::Machine machine_before_dpdk(const config::SwitchConfig& config,
                                    const std::vector<int>& cpus, const Sysfs& sysfs);
// `ports` by place; nullptr: not there, or not yet.
config::Machine machine_of_dpdk(const config::SwitchConfig& config,
                                const std::vector<std::unique_ptr<Port>>& ports);

}  // namespace tributary::dataplane
