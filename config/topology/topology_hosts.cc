// Completion hosts of the jobs of a tree (T10), servers, switches and workers: the way from a root
// to each, and which nodes may host.
#include <algorithm>

#include "config/check/check_notify.h"
#include "config/text/codec.h"
#include "config/text/lift.h"
#include "config/topology/topology_tree.h"

namespace tributary::config {
namespace {

// The path of an element in a job's list of hosts.
std::string host_path(std::size_t job, std::size_t host) {
  return item_path(item_path("jobs", job) + ".completion_hosts", host);
}

// The way from a root to a host. `at`: the switch that the host is attached to, and the port.
CompletionHost way_to(const Topology& t, std::size_t root, CompletionHost host, Hop at) {
  // Goes down if the host is below the root, else up.
  const auto above_root = [&] {
    std::vector<std::size_t> way;
    for (std::optional<std::size_t> i = root; i; i = find_switch(t, t.switches[*i].parent))
      way.push_back(*i);
    return way;
  }();
  const auto place = [&](std::size_t node) {
    return std::find(above_root.begin(), above_root.end(), node);
  };
  while (place(at.node) == above_root.end()) {
    const TopologySwitch& sw = t.switches[at.node];
    ++host.hops;
    host.cost += sw.uplink_cost;
    at = {find_switch(t, sw.parent).value(), sw.parent_port};
  }
  host.port = at.node == root ? at.port : t.switches[root].uplink;
  for (auto up = above_root.begin(); up != place(at.node); ++up) {
    ++host.hops;
    host.cost += t.switches[*up].uplink_cost;
  }
  return host;
}

bool is_wanted_by(const TopologyJob& job, const std::string& host) {
  return is_among(job.config.completion_hosts, host);
}

// The switch with this name: `root` is the job's root, even if a switch has that name.
std::optional<std::size_t> host_switch(const Topology& t, const std::string& host) {
  return host == kRootHost || find_server(t, host) ? std::nullopt : find_switch(t, host);
}

// The names that a job may give, for messages.
std::string allowed_hosts(const Topology& t) {
  std::string names;
  for (const auto& s : t.servers) names.append(s.config.name).append(", ");
  return names + "a switch that sums the job, a worker with an address, root as the last";
}

}  // namespace

std::optional<std::size_t> find_host_worker(const Topology& topology, const std::string& name) {
  if (name == kRootHost || find_server(topology, name) || find_switch(topology, name))
    return std::nullopt;
  return find_worker(topology, name);
}

std::vector<CompletionHost> hosts_at(const Topology& topology, std::size_t node) {
  std::vector<CompletionHost> hosts;
  if (std::all_of(topology.jobs.begin(), topology.jobs.end(),
                  [](const TopologyJob& job) { return job.config.completion_hosts.empty(); }))
    return hosts;
  // A host that notifies workers itself is known to all switches of the job, others to the root.
  const auto wanted = [&](const std::string& name) {
    return std::any_of(topology.jobs.begin(), topology.jobs.end(), [&](const TopologyJob& job) {
      if (!is_wanted_by(job, name)) return false;
      const JobTree tree(topology, job);
      const bool direct = job.config.notify == wire::Notify::direct && tree.takes_part(node);
      return direct || tree.top() == node;
    });
  };
  for (const TopologyServer& server : topology.servers) {
    const ServerConfig& config = server.config;
    if (wanted(config.name))
      hosts.push_back(way_to(topology, node, {config.name, config.ipv4, "", 1, server.cost},
                             {find_switch(topology, server.attached_to).value(), server.port}));
  }
  for (const TopologySwitch& sw : topology.switches) {
    if (!wanted(sw.config.name) || !host_switch(topology, sw.config.name)) continue;
    if (const auto parent = find_switch(topology, sw.parent))
      hosts.push_back(way_to(topology, node,
                             {sw.config.name, sw.config.ipv4, "", 1, sw.uplink_cost},
                             {*parent, sw.parent_port}));
  }
  for (const TopologyWorker& worker : topology.workers)
    if (wanted(worker.name) && find_host_worker(topology, worker.name))
      hosts.push_back(way_to(topology, node, {worker.name, worker.ipv4.value(), "", 1, 1},
                             {find_switch(topology, worker.attached_to).value(), worker.port}));
  return hosts;
}

std::optional<std::string> heartbeat_problem(const Topology& t, const std::string& host,
                                             Duration heartbeat) {
  for (const TopologyJob& job : t.jobs) {
    if (!is_wanted_by(job, host)) continue;
    const SwitchConfig& root = t.switches[JobTree(t, job).top()].config;
    if (heartbeat * 3 < root.completion.lease) continue;
    return format_duration(heartbeat) + " is not less than a third of " +
           format_duration(root.completion.lease) + ", the completion.lease of " + root.name +
           "; allowed: less than a third";
  }
  return std::nullopt;
}

void check_host_names(const Topology& t, std::size_t j, ReadContext& context) {
  const auto& hosts = t.jobs[j].config.completion_hosts;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    if (!context.usable(host_path(j, h)) || hosts[h] == kRootHost || find_server(t, hosts[h]) ||
        find_switch(t, hosts[h]))
      continue;
    const auto worker = find_worker(t, hosts[h]);
    if (worker && t.workers[*worker].ipv4) continue;
    context.report(host_path(j, h),
                   (worker ? "worker " + quoted(hosts[h]) + " has no address"
                           : "there is no server, switch or worker " + quoted(hosts[h])) +
                       "; allowed: " + allowed_hosts(t));
  }
}

void check_host_switches(const Topology& t, std::size_t j, ReadContext& context) {
  const JobTree tree(t, t.jobs[j]);
  std::string names;
  for (std::size_t i = 0; i < t.switches.size(); ++i)
    if (i != tree.top() && tree.takes_part(i)) names.append(t.switches[i].config.name).append(", ");
  const auto& hosts = t.jobs[j].config.completion_hosts;
  HostKinds kinds;
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const auto node = host_switch(t, hosts[h]);
    kinds.switches = kinds.switches || node;
    kinds.servers = kinds.servers || (!node && hosts[h] != kRootHost);
    if (!node) continue;
    if (*node == tree.top()) {
      context.report(host_path(j, h),
                     "is the root switch of the job; allowed: " + names + "root as the last");
    } else if (!tree.takes_part(*node)) {
      context.report(host_path(j, h), "switch " + quoted(hosts[h]) +
                                          " sums nothing of the job; allowed: " + names +
                                          "root as the last");
    } else if (const auto problem =
                   heartbeat_problem(t, hosts[h], t.switches[*node].config.completion.heartbeat)) {
      context.report(item_path("switches", *node) + ".completion.heartbeat", *problem);
    }
  }
  check_notify(t.jobs[j].config, item_path("jobs", j), kinds, context);
}

}  // namespace tributary::config
