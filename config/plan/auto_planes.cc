#include "config/plan/auto_planes.h"

#include <algorithm>
#include <string>

namespace tributary::config {
namespace {

const Node* value_of(const Node& mapping, const std::string& key) {
  for (const auto& [name, value] : mapping.entries)
    if (name.text == key) return &value;
  return nullptr;
}

bool takes_one_plane(const JobConfig& job) {
  const auto elsewhere = [](const std::string& host) { return host != kRootHost; };
  return job.lcore || job.slots == SlotMode::dynamic || job.rdma ||
         std::any_of(job.completion_hosts.begin(), job.completion_hosts.end(), elsewhere);
}

}  // namespace

std::uint8_t auto_planes(const JobConfig& job, std::size_t lcores) {
  if (takes_one_plane(job)) return 1;
  const std::size_t wanted = job.lcores.empty() ? lcores : job.lcores.size();
  const std::size_t ports = kMaxShards / std::max<std::size_t>(job.shards, 1);
  return static_cast<std::uint8_t>(std::clamp<std::size_t>(std::min(wanted, ports), 1, kMaxPlanes));
}

void settle_planes(const Node& owner, const std::vector<JobConfig*>& jobs, std::size_t lcores) {
  const Node* const list = value_of(owner, "jobs");
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool has_key =
        list != nullptr && i < list->items.size() && value_of(list->items[i], "planes") != nullptr;
    if (!has_key || jobs[i]->planes == kAutoPlanes) jobs[i]->planes = auto_planes(*jobs[i], lcores);
  }
}

}  // namespace tributary::config
