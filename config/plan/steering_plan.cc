#include "config/plan/steering_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "config/text/lift.h"

namespace tributary::config {
namespace {

using Lcores = std::set<std::uint16_t>;

bool all_pinned(const JobConfig& job) {
  const bool children =
      !job.children.empty() && std::none_of(job.children.begin(), job.children.end(),
                                            [](const ChildConfig& c) { return c.port.empty(); });
  return children || (job.workers > 0 && job.members.size() >= job.workers);
}

// The lcores that use each UDP port, for jobs whose packets come in through this port.
std::map<std::uint16_t, Lcores> users(const SwitchConfig& config, const PortConfig& port) {
  std::map<std::uint16_t, Lcores> users;
  for (const JobConfig& job : config.jobs) {
    if (!uses_port(config, job, port)) continue;
    for (std::uint8_t plane = 0; plane < job.planes; ++plane)
      for (std::uint16_t shard = 0; shard < job.shards; ++shard)
        users[static_cast<std::uint16_t>(config.udp_base_port + plane * job.shards + shard)].insert(
            job_lcore(config, job, plane));
    if (job.hosting) users[hosting_udp_port(config.udp_base_port)].insert(job_lcore(config, job));
  }
  return users;
}

}  // namespace

bool uses_port(const SwitchConfig& config, const JobConfig& job, const PortConfig& port) {
  const auto is_port = [&](const auto& part) { return part.port == port.name; };
  const auto& hosts = config.completion.hosts;
  return !all_pinned(job) || std::any_of(job.members.begin(), job.members.end(), is_port) ||
         std::any_of(job.children.begin(), job.children.end(), is_port) ||
         (job.parent && job.parent->uplink == port.name) ||
         std::any_of(hosts.begin(), hosts.end(), [&](const CompletionHost& host) {
           return is_port(host) && is_among(job.completion_hosts, host.name);
         });
}

SteeringPlan steering_plan(const SwitchConfig& config, std::size_t port) {
  SteeringPlan plan{.ipv4 = config.ipv4, .wishes = {}};
  std::map<std::uint16_t, std::vector<std::uint16_t>> queues;  // by lcore
  for (const QueuePlace& place : queue_places(config))
    if (place.port == port) queues[place.lcore].push_back(place.queue);
  if (config.ports[port].queues <= 1) return plan;
  std::map<std::uint16_t, std::size_t> given;  // of an lcore's queues, used in turn
  for (const auto& [udp_port, lcores] : users(config, config.ports[port])) {
    if (lcores.size() != 1 || !queues.contains(*lcores.begin())) continue;
    const std::uint16_t lcore = *lcores.begin();
    const auto& own = queues[lcore];
    plan.wishes.push_back({udp_port, own[given[lcore]++ % own.size()]});
  }
  return plan;
}

}  // namespace tributary::config
