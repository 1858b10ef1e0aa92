#include "sim/scenario/network_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "config/topology/topology.h"
#include "config/topology/topology_tree.h"
#include "core/prng.h"

namespace tributary::sim {
namespace {

constexpr std::uint32_t kSwitchIpv4 = 0x0A0000FE;  // 10.0.0.254
constexpr std::uint32_t kAccessIpv4 = 0x0A000100;  // 10.0.1.x
constexpr std::uint32_t kServerIpv4 = 0x0A020000;  // 10.2.0.1 and on
constexpr std::uint32_t kTreeIpv4 = 0x0A400000;    // 10.64.x.y
constexpr std::size_t kLargestPacket = 1500;
constexpr std::uint32_t kJumboMtu = 9216;
// Worlds are many, and small.
constexpr std::uint32_t kCompletionMegabytes = 1;
constexpr std::uint32_t kReserveMegabytes = 2;
constexpr std::uint32_t kNamedSegmentBytes = 64 << 10;
constexpr Duration kFdbAgeing = Duration::seconds(5);

std::string port_name(std::size_t index) {
  std::string name = "p";
  return name += std::to_string(index);
}

std::string worker_name(std::size_t number) {
  std::string name = "w";
  return name += std::to_string(number);
}

std::uint32_t fdb_entries(const Scenario& s) {
  return std::max(64u, std::bit_ceil(2 * worker_count(s)));
}

std::uint32_t slots_for(const Scenario& s) {
  std::uint32_t slots = s.pool_slots;
  for (const JobScenario& job : s.jobs)
    if (job.sums.slots == config::SlotMode::partition) slots += job.window;
  return slots;
}

std::string server_name(std::uint32_t index) {
  std::string name = "ps";
  return name += std::to_string(index);
}

std::uint32_t mtu_for(const Scenario& s) {
  std::size_t largest = 0;
  for (const JobScenario& job : s.jobs)
    largest = std::max(largest, config::kFrameOverheadBytes + job.chunk_bytes);
  return largest > kLargestPacket ? kJumboMtu : 1500;
}

// A cache so small that values give way to others.
config::NamesConfig names_config(const Scenario& s) {
  config::NamesConfig names;
  if (std::none_of(s.jobs.begin(), s.jobs.end(), [](const auto& j) { return j.named_bytes > 0; }))
    return names;
  names.megabytes = 1;
  names.segment_bytes = kNamedSegmentBytes;
  return names;
}

config::ServerConfig server_config(const Scenario& s, std::uint32_t index) {
  config::ServerConfig c;
  c.name = server_name(index);
  c.ipv4 = kServerIpv4 + index + 1;
  c.heartbeat = s.servers.heartbeat;
  return c;
}

config::SwitchConfig aggregator_config(const Scenario& s) {
  config::SwitchConfig c;
  c.ipv4 = kSwitchIpv4;
  c.forwarding.fdb_entries = fdb_entries(s);
  c.forwarding.fdb_ageing = kFdbAgeing;
  c.names = names_config(s);
  const bool hostile = s.hostile.packets > 0;
  const std::uint32_t down = s.access_switches > 0 ? s.access_switches : worker_count(s);
  std::uint32_t first_worker = 0;
  c.slots = slots_for(s);
  c.preempt_idle = s.preempt_idle;
  c.preempt_busy = s.preempt_busy;
  c.cache.megabytes = s.cache_megabytes;
  c.completion.megabytes = kCompletionMegabytes;
  for (const JobScenario& job : s.jobs) {
    config::JobConfig jc = job_config(job);
    // A stranger may take the place of a rank that is not tied to a port and not there yet.
    for (std::uint32_t rank = 0; hostile && rank < job.workers; ++rank)
      jc.members.push_back({rank, port_name((first_worker + rank) % down)});
    first_worker += job.workers;
    c.jobs.push_back(std::move(jc));
  }
  for (std::uint32_t p = 0; p < down + (hostile ? 1u : 0u); ++p)
    c.ports.push_back({port_name(p), "", mtu_for(s)});
  c.completion.lease = s.servers.lease;
  return c;
}

// Each on a port of its own, the last ones.
void add_servers(NetworkPlan& plan, const Scenario& s) {
  config::SwitchConfig& root = plan.switches[0].config;
  for (std::uint32_t i = 0; i < s.servers.count; ++i) {
    config::ServerConfig server = server_config(s, i);
    root.completion.hosts.push_back({server.name, server.ipv4, add_port(root, s)});
    for (std::size_t j = 0; j < s.jobs.size(); ++j)
      if (i < s.jobs[j].servers)
        server.jobs.push_back({root.jobs[j], root.ipv4, root.udp_base_port, {}});
    plan.servers.push_back({std::move(server), 0});
  }
}

config::SwitchConfig access_config(const Scenario& s, std::uint32_t index) {
  config::SwitchConfig c;
  c.ipv4 = kAccessIpv4 + index;
  c.forwarding.fdb_entries = fdb_entries(s);
  c.forwarding.fdb_ageing = kFdbAgeing;
  std::uint32_t ports = 1;
  for (std::uint32_t w = index; w < worker_count(s); w += s.access_switches) ++ports;
  for (std::uint32_t p = 0; p < ports; ++p) c.ports.push_back({port_name(p), "", kJumboMtu});
  return c;
}

NetworkPlan plan_one(const Scenario& s) {
  NetworkPlan plan;
  plan.switches.push_back({"switch", aggregator_config(s), std::nullopt});
  for (std::uint32_t i = 0; i < s.access_switches; ++i)
    plan.switches.push_back(
        {std::string("access ").append(std::to_string(i)), access_config(s, i), 0});
  for (std::uint32_t w = 0; w < worker_count(s); ++w)
    plan.workers.push_back({s.access_switches == 0 ? 0 : 1 + w % s.access_switches, 0});
  add_servers(plan, s);
  return plan;
}

// As completion hosts, before all others.
void name_switches(const JobScenario& job, const config::Topology& topology,
                   config::TopologyJob& tj) {
  if (job.host_switches == 0) return;
  const config::JobTree tree(topology, tj);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < topology.switches.size() && names.size() < job.host_switches; ++i)
    if (i != tree.top() && tree.takes_part(i)) names.push_back(topology.switches[i].config.name);
  auto& hosts = tj.config.completion_hosts;
  if (hosts.empty() && job.root_too) hosts.emplace_back(config::kRootHost);
  hosts.insert(hosts.begin(), names.begin(), names.end());
}

void add_jobs(const Scenario& s, config::Topology& topology) {
  std::uint32_t number = 0;
  for (const JobScenario& job : s.jobs) {
    config::TopologyJob tj;
    tj.config = job_config(job);
    for (std::uint32_t rank = 0; rank < job.workers; ++rank)
      tj.members.push_back({rank, worker_name(number++)});
    name_switches(job, topology, tj);
    topology.jobs.push_back(std::move(tj));
  }
}

// A mover has a cable to every switch that it is ever on, so that all ports are there from the
// begin.
class Moves {
 public:
  // `first`: the tree at the begin.
  Moves(const Scenario& s, NetworkPlan& plan, const config::Topology& first) : s_(s), plan_(plan) {
    NetworkPlan::Version& version = plan_.versions.emplace_back();
    for (std::size_t w = 0; w < plan_.workers.size(); ++w) {
      ends_[{false, w, plan_.workers[w].serving}] = {first.workers[w].port, {}};
      version.homes.push_back(plan_.workers[w].serving);
    }
    for (std::size_t i = 0; i < plan_.aggregators; ++i) {
      version.above.push_back(plan_.switches[i].above);
      if (const auto above = version.above.back())
        ends_[{true, i, *above}] = {first.switches[i].parent_port, first.switches[i].uplink};
    }
  }

  // The tree after one change more.
  config::Topology after(const TreeChange& change, config::Topology tree) {
    NetworkPlan::Version version = plan_.versions.back();
    const config::SwitchConfig& to = tree.switches[change.to].config;
    if (change.moved_switch) {
      const std::size_t i = *change.moved_switch;
      const Ends& ends = cable({true, i, change.to}, tree);
      tree.switches[i].parent = to.name;
      tree.switches[i].parent_port = ends.above;
      tree.switches[i].uplink = ends.below;
      version.above[i] = change.to;
    } else {
      config::TopologyWorker& worker = tree.workers[change.worker];
      worker.attached_to = to.name;
      worker.port = cable({false, change.worker, change.to}, tree).above;
      version.homes[change.worker] = change.to;
    }
    plan_.versions.push_back(std::move(version));
    return tree;
  }

 private:
  struct Ends {
    std::string above, below;  // ports; a worker's has no name
  };

  const Ends& cable(const NetworkPlan::Cable& c, config::Topology& tree) {
    const auto [ends, is_new] = ends_.try_emplace({c.of_switch, c.mover, c.to});
    if (is_new) {
      ends->second.above = add_port(tree.switches[c.to].config, s_);
      if (c.of_switch) ends->second.below = add_port(tree.switches[c.mover].config, s_);
      plan_.cables.push_back(c);
    }
    return ends->second;
  }

  const Scenario& s_;
  NetworkPlan& plan_;
  std::map<std::tuple<bool, std::size_t, std::size_t>, Ends> ends_;  // by mover and switch
};

NetworkPlan plan_tree(const Scenario& s, const std::vector<TreeSwitch>& tree) {
  NetworkPlan plan;
  plan.aggregators = tree.size();
  config::Topology topology;
  topology.switches.resize(tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    config::TopologySwitch& sw = topology.switches[i];
    sw.config = tree_switch_config(s, i);
    sw.config.name = tree[i].name;
    sw.parent = tree[i].parent;
    plan.switches.push_back({tree[i].name, {}, std::nullopt});
    if (sw.parent.empty()) continue;
    std::size_t above = 0;
    while (tree[above].name != sw.parent) ++above;
    plan.switches.back().above = above;
    sw.parent_port = add_port(topology.switches[above].config, s);
    sw.uplink = add_port(sw.config, s);
  }
  for (const std::size_t home : homes_of(tree, worker_count(s))) {
    const std::string name = worker_name(plan.workers.size());
    topology.workers.push_back(
        {name, tree[home].name, add_port(topology.switches[home].config, s), std::nullopt});
    plan.workers.push_back({home, home});
  }
  plan.attacked = Prng(s.seed).below(static_cast<std::uint32_t>(tree.size()));
  if (s.hostile.packets > 0) add_port(topology.switches[plan.attacked].config, s);
  for (std::uint32_t i = 0; i < s.servers.count; ++i) {
    const std::size_t at = s.servers.spread ? i % tree.size() : 0;
    topology.servers.push_back(
        {server_config(s, i), tree[at].name, add_port(topology.switches[at].config, s)});
    plan.servers.push_back({{}, at});
  }
  Moves moves(s, plan, topology);
  std::vector<config::Topology> versions = {std::move(topology)};
  for (const TreeChange& change : s.changes)
    versions.push_back(moves.after(change, versions.back()));
  for (std::size_t v = 0; v < versions.size(); ++v) {
    config::Topology& version = versions[v];
    for (std::size_t i = 0; i < tree.size(); ++i)
      version.switches[i].config.ports = versions.back().switches[i].config.ports;
    add_jobs(s, version);
    for (const TreeSwitch& sw : tree)
      plan.versions[v].configs.push_back(config::node_config(version, sw.name));
  }
  for (std::size_t i = 0; i < tree.size(); ++i)
    plan.switches[i].config = plan.versions.front().configs[i];
  for (std::uint32_t i = 0; i < s.servers.count; ++i)
    plan.servers[i].config = config::server_config(versions.front(), server_name(i));
  return plan;
}

// The bracket of the data that the switch at `place` combines.
config::Bracket bracket_at(const NetworkPlan& plan, std::size_t place, std::uint32_t id) {
  const config::SwitchConfig& sw = plan.switches[place].config;
  std::size_t j = 0;
  while (sw.jobs[j].id != id) ++j;
  config::Bracket all;
  for (const config::ChildConfig& child : sw.jobs[j].children) {
    // Switches of a tree are numbered from 1 in the order of the plan.
    all.items.push_back(child.is_switch ? bracket_at(plan, child.id - 1, id)
                                        : config::Bracket{{}, child.id});
  }
  return all;
}

}  // namespace

config::JobConfig job_config(const JobScenario& job) {
  config::JobConfig jc = job.sums;
  jc.id = job.id;
  jc.workers = job.workers;
  for (const Resize& r : job.resizes)
    jc.min_workers = jc.min_workers == 0 ? r.workers : std::min(jc.min_workers, r.workers);
  jc.window = job.window;
  jc.chunk_bytes = job.carried_chunk_bytes();
  jc.shards = job.shards;
  jc.planes = static_cast<std::uint8_t>(job.plane + 1);
  jc.plane = job.plane;
  jc.deadline = job.deadline;
  jc.stragglers.degraded_after = job.degraded_after;
  jc.lease = job.lease;
  jc.integrity = job.integrity;
  for (std::uint32_t i = 0; i < job.servers; ++i) jc.completion_hosts.push_back(server_name(i));
  if (job.servers > 0 && job.root_too) jc.completion_hosts.emplace_back(config::kRootHost);
  jc.names.enabled = job.named_bytes > 0;
  jc.host_choice = job.host_choice;
  jc.notify = job.notify;
  return jc;
}

std::vector<std::size_t> homes_of(const std::vector<TreeSwitch>& tree, std::uint32_t workers) {
  std::vector<std::size_t> homes;
  for (std::size_t i = 0; i < tree.size(); ++i) homes.insert(homes.end(), tree[i].workers, i);
  homes.resize(workers, 0);  // those that the list forgets are at the root
  return homes;
}

config::SwitchConfig tree_switch_config(const Scenario& s, std::size_t place) {
  config::SwitchConfig c;
  c.id = static_cast<std::uint32_t>(place + 1);
  c.ipv4 = kTreeIpv4 + c.id;
  c.slots = slots_for(s);
  c.preempt_idle = s.preempt_idle;
  c.preempt_busy = s.preempt_busy;
  c.cache.megabytes = s.cache_megabytes;
  c.completion.megabytes = kCompletionMegabytes;
  c.completion.lease = s.servers.lease;
  c.completion.heartbeat = s.servers.heartbeat;
  c.completion.hosted_megabytes = kCompletionMegabytes;
  c.names = names_config(s);
  c.memory.reserve_megabytes = s.changes.empty() ? 0 : kReserveMegabytes;
  c.forwarding.fdb_entries = fdb_entries(s);
  c.forwarding.fdb_ageing = kFdbAgeing;
  return c;
}

std::string add_port(config::SwitchConfig& config, const Scenario& s) {
  config.ports.push_back({port_name(config.ports.size()), "", mtu_for(s)});
  return config.ports.back().name;
}

config::Bracket expression_of(const NetworkPlan& plan, std::uint32_t id) {
  for (std::size_t place = 0; place < plan.aggregators; ++place)
    for (const config::JobConfig& job : plan.switches[place].config.jobs) {
      if (job.id != id || job.parent) continue;
      if (!job.children.empty()) return bracket_at(plan, place, id);
      if (job.bracketing) return *job.bracketing;
      config::Bracket by_rank;
      for (std::uint32_t rank = 0; rank < job.workers; ++rank) by_rank.items.push_back({{}, rank});
      return by_rank;
    }
  return {};
}

NetworkPlan plan_of_version(const NetworkPlan& plan, std::size_t version) {
  NetworkPlan other = plan;
  for (std::size_t i = 0; i < plan.versions[version].configs.size(); ++i)
    other.switches[i].config = plan.versions[version].configs[i];
  return other;
}

NetworkPlan plan_network(const Scenario& scenario) {
  if (scenario.fat_tree.levels > 1) return plan_fat_tree(scenario);
  if (scenario.switches.size() > 1) return plan_tree(scenario, scenario.switches);
  return plan_one(scenario);
}

}  // namespace tributary::sim
