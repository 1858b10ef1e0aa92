#include "sim/run/node_options.h"

#include <algorithm>
#include <utility>

#include "config/model/switch_config.h"
#include "core/net/udp_peer.h"

namespace tributary::sim {
namespace {

constexpr std::uint32_t kWorkerIpv4 = 0x0A010000;  // 10.1.0.1 and on, over all jobs
constexpr std::uint32_t kEpochsPerSwitch = 641;

config::OptimizerConfig optimizer_of(const Scenario& scenario, const JobScenario& job) {
  config::OptimizerConfig o;
  o.kind = config::OptimizerKind::sgd;
  o.rate = 1;
  o.parameters = {std::max(job.max_elements, 1u)};
  if (scenario.servers.checkpoint_steps > 0)
    o.checkpoint = {"in the node", scenario.servers.checkpoint_steps};
  return o;
}

// nullptr: the job has no model.
const JobScenario* model_job(const Scenario& scenario, std::uint32_t id) {
  for (const JobScenario& job : scenario.jobs)
    if (job.id == id && job.model) return &job;
  return nullptr;
}

}  // namespace

std::uint64_t seed_of(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index) {
  Prng random(seed ^ purpose * 0x9E3779B97F4A7C15ULL);
  return random.next() + index * 0xD1342543DE82EF95ULL;
}

NodeClock clock_of(const Scenario& scenario, std::uint64_t index) {
  Prng random(seed_of(scenario.seed, kClock, index));
  const auto drift = static_cast<std::int32_t>(random.below(2 * scenario.drift_ppm + 1)) -
                     static_cast<std::int32_t>(scenario.drift_ppm);
  return {Duration::ns(random.below(1'000'000'000)), drift};
}

SwitchOptions switch_options(const Scenario& scenario, const NetworkPlan& plan, std::size_t index) {
  SwitchOptions o;
  o.config = plan.switches[index].config;
  o.turn_max = scenario.turn_max;
  o.tick = scenario.tick;
  if (index < plan.aggregators) o.cost = scenario.cost;
  o.capture = index == plan.attacked && scenario.hostile.packets > 0;
  for (const JobScenario& job : scenario.jobs) o.payload_scale.emplace(job.id, job.payload_scale());
  o.first_epoch = static_cast<std::uint16_t>(scenario.first_epoch);
  // Where a job's root moves to another switch, its epochs must differ.
  if (!scenario.changes.empty())
    o.first_epoch = static_cast<std::uint16_t>(o.first_epoch + index * kEpochsPerSwitch);
  o.first_seq = scenario.first_seq;
  o.seed = seed_of(scenario.seed, kSwitch, index);
  o.held_frames = scenario.held_frames;
  o.held_seed = seed_of(scenario.seed, kHeld, index);
  return o;
}

WorkerOptions worker_options(const Scenario& scenario, const NetworkPlan& plan,
                             std::uint32_t job_index, std::uint32_t rank, std::uint32_t number) {
  WorkerOptions o;
  o.job = &scenario.jobs[job_index];
  o.job_index = job_index;
  o.rank = rank;
  o.workload_seed = seed_of(scenario.seed, kWorkload, 0);
  o.seed = seed_of(scenario.seed, kWorker, number);
  o.ipv4 = kWorkerIpv4 + number + 1;
  o.mac = config::derived_mac(o.ipv4);
  o.switch_ipv4 = plan.switches[plan.workers[number].serving].config.ipv4;
  o.switch_mac = config::derived_mac(o.switch_ipv4);
  o.udp_base_port = config::kDefaultUdpBasePort;
  o.stray_ppm = scenario.links.stray_ppm;
  o.heal_at = Instant() + scenario.heal_at;
  o.first_seq = scenario.first_seq;
  for (const TreeChange& c : scenario.changes)
    o.tree_settled = std::max(o.tree_settled, Instant() + c.at + c.spread);
  if (!scenario.changes.empty()) o.tree_settled = std::max(o.tree_settled, o.heal_at);
  return o;
}

ServerOptions server_options(const Scenario& scenario, const NetworkPlan& plan, std::size_t index) {
  const config::ServerConfig& config = plan.servers[index].config;
  ServerOptions o;
  o.ipv4 = config.ipv4;
  o.mac = config::derived_mac(o.ipv4);
  o.udp_port = config.udp_port;
  o.seed = seed_of(scenario.seed, kServer, index);
  o.heartbeat = config.heartbeat;
  for (const config::ServedJobConfig& told : config.jobs) {
    completion::ServedJob served;
    served.limits = completion::limits_of(told.job);
    served.limits.root_is_here = false;
    served.limits.bytes = scenario.servers.tight ? 0 : completion::most_bytes(served.limits);
    served.roots = wire::peers_of_shards({0, told.root_udp_port, told.root_ipv4}, told.job.shards);
    served.group = wire::peers_of_shards(
        {0, told.root_udp_port, config::job_group_ipv4(told.job.id)}, told.job.shards);
    served.integrity = told.job.integrity;
    if (const JobScenario* const job = model_job(scenario, told.job.id))
      served.optimizer = optimizer_of(scenario, *job);
    o.jobs.push_back(std::move(served));
  }
  for (const JobScenario& job : scenario.jobs) o.payload_scale.emplace(job.id, job.payload_scale());
  return o;
}

}  // namespace tributary::sim
