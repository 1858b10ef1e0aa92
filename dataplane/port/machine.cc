#include "dataplane/port/machine.h"

#include <rte_lcore.h>

#include <fstream>

#include "config/plan/lcore_plan.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/port/eal.h"

namespace tributary::dataplane {
namespace {

namespace fs = std::filesystem;

// Reads a file with one number in it.
template <typename Number>
std::optional<Number> read(const fs::path& path) {
  std::ifstream file(path);
  Number value{};
  if (file >> value) return value;
  return std::nullopt;
}

// The number behind `prefix`, if that is all there is.
std::optional<int> number_after(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size() || name.size() > prefix.size() + 4)
    return std::nullopt;
  int number = 0;
  for (const char digit : name.substr(prefix.size())) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  return number;
}

}  // namespace

int Sysfs::socket_of_cpus(const std::vector<int>& cpus) const {
  int found = config::kAnySocket;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(nodes(), none)) {
    const auto node = number_after(entry.path().filename().string(), "node");
    if (!node) continue;
    for (const int cpu : cpus) {
      if (!fs::exists(entry.path() / ("cpu" + std::to_string(cpu)), none)) continue;
      if (found != config::kAnySocket && found != *node) return config::kAnySocket;
      found = *node;
    }
  }
  return found;
}

int Sysfs::socket_of_card(const std::string& pci_address) const {
  std::string address = pci_address;
  if (address.find(':') == address.rfind(':')) address.insert(0, "0000:");
  const auto node = read<int>(root_ / "bus/pci/devices" / address / "numa_node");
  return node && *node >= 0 ? *node : config::kAnySocket;
}

std::optional<std::uint64_t> Sysfs::free_bytes(int socket) const {
  std::optional<std::uint64_t> bytes;
  std::error_code none;
  const fs::path sizes = nodes() / ("node" + std::to_string(socket)) / "hugepages";
  for (const auto& entry : fs::directory_iterator(sizes, none)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kPrefix = "hugepages-";  // hugepages-2048kB
    if (!name.starts_with(kPrefix)) continue;
    const std::uint64_t kib = std::strtoull(name.c_str() + kPrefix.size(), nullptr, 10);
    const auto pages = read<std::uint64_t>(entry.path() / "free_hugepages");
    if (pages) bytes = bytes.value_or(0) + *pages * (kib << 10);
  }
  return bytes;
}

config::Machine machine_before_dpdk(const config::SwitchConfig& config,
                                    const std::vector<int>& cpus, const Sysfs& sysfs) {
  config::Machine machine;
  for (std::size_t lcore = 0; lcore < config::lcore_count(config); ++lcore) {
    const int cpu = config::lcore_cpu(config, lcore);
    machine.lcores.push_back(sysfs.socket_of_cpus(cpu >= 0 ? std::vector{cpu} : cpus));
  }
  for (const config::PortConfig& port : config.ports) {
    const Devargs device = parse_devargs(port.devargs);
    machine.ports.push_back(device.pci() ? sysfs.socket_of_card(device.device)
                                         : config::kAnySocket);
  }
  return machine;
}

config::Machine machine_of_dpdk(const config::SwitchConfig& config,
                                const std::vector<std::unique_ptr<Port>>& ports) {
  config::Machine machine;
  for (unsigned lcore = 0; lcore < config::lcore_count(config); ++lcore)
    machine.lcores.push_back(static_cast<int>(rte_lcore_to_socket_id(kFirstWorkerLcore + lcore)));
  for (const auto& port : ports)
    machine.ports.push_back(port == nullptr ? config::kAnySocket : port->socket());
  return machine;
}

}  // namespace tributary::dataplane
