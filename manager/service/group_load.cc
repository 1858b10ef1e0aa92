#include "manager/service/group_load.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tributary::manager {
namespace {

// Adds what the containers of a pod use; unknown as soon as one container is.
void add_cpu(const PodRecord& record, std::optional<double>& cpu) {
  for (const ContainerStatus& one : record.containers) {
    if (one.state != "running") continue;
    cpu = cpu && one.cpu ? std::optional(*cpu + *one.cpu) : std::nullopt;
  }
}

const Device* device_of(const PodBook& book, const PodRecord& record, const std::string& name) {
  const auto node = book.nodes().find(record.node);
  if (node == book.nodes().end()) return nullptr;
  const auto& devices = node->second.node.devices;
  const auto at = std::find_if(devices.begin(), devices.end(),
                               [&](const Device& device) { return device.name == name; });
  return at == devices.end() ? nullptr : &*at;
}

struct Sum {
  GroupLoad load;
  double device_loads = 0;
  std::size_t known = 0;  // devices whose load their node has reported
};

void add_devices(const PodBook& book, const PodRecord& record, Sum& sum) {
  for (const std::string& name : record.devices) {
    if (name.starts_with(kPortPrefix)) continue;
    ++sum.load.devices;
    const Device* const device = device_of(book, record, name);
    if (device == nullptr) continue;
    sum.device_loads += device->load;
    ++sum.known;
  }
}

void add_pod(const PodBook& book, const PodRecord& record, Sum& sum) {
  ++sum.load.pods;
  if (!record.holds()) return;
  if (record.phase == PodPhase::running) ++sum.load.running;
  add_cpu(record, sum.load.cpu);
  add_devices(book, record, sum);
}

}  // namespace

std::vector<GroupLoad> group_loads(const PodBook& book) {
  std::map<std::string, Sum> sums;
  for (const auto& [name, group] : book.groups()) {
    GroupLoad& load = sums[name].load;
    load.name = name;
    load.min_count = group.min_count;
    load.cpu = 0.0;
  }
  for (const auto& [name, record] : book.pods()) {
    const auto at = sums.find(record.pod.spec.group);
    if (at != sums.end()) add_pod(book, record, at->second);
  }
  std::vector<GroupLoad> loads;
  for (auto& [name, sum] : sums) {
    if (sum.known > 0) sum.load.load = sum.device_loads / static_cast<double>(sum.known);
    loads.push_back(std::move(sum.load));
  }
  return loads;
}

}  // namespace tributary::manager
