// Checks that a list of switches is a tree, and what jobs require of it. Each function is one rule.
#include <map>
#include <set>

#include "config/check/check.h"
#include "config/model/bracketing.h"
#include "config/model/devargs.h"
#include "config/text/codec.h"
#include "config/topology/job_shape.h"

namespace tributary::config {
namespace {

std::string switch_path(std::size_t i, const std::string& key) {
  return item_path("switches", i) + '.' + key;
}
std::string server_path(std::size_t i, const std::string& key) {
  return item_path("servers", i) + '.' + key;
}
std::string worker_path(std::size_t i, const std::string& key) {
  return item_path("workers", i) + '.' + key;
}
std::string job_path(std::size_t i, const std::string& key) {
  return item_path("jobs", i) + '.' + key;
}

// Reports values that occur twice, over several lists.
template <typename Value>
class Once {
 public:
  explicit Once(ReadContext& context) : context_(context) {}
  void add(const std::string& path, const Value& value, const std::string& text) {
    if (!context_.usable(path)) return;
    const auto [first, fresh] = seen_.emplace(value, path);
    if (!fresh)
      context_.report(path, text + " is already used by " + first->second + " on line " +
                                std::to_string(context_.mark_of(first->second).line));
  }

 private:
  ReadContext& context_;
  std::map<Value, std::string> seen_;
};

void check_unique(const Topology& t, ReadContext& context) {
  Once<std::string> names(context);
  Once<std::uint32_t> ids(context);
  Once<std::uint32_t> addresses(context);
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const SwitchConfig& c = t.switches[i].config;
    names.add(switch_path(i, "name"), c.name, "name " + quoted(c.name));
    ids.add(switch_path(i, "id"), c.id, "id " + std::to_string(c.id));
    addresses.add(switch_path(i, "address"), c.ipv4, "address " + format_ipv4(c.ipv4));
  }
  for (std::size_t i = 0; i < t.servers.size(); ++i) {
    const ServerConfig& c = t.servers[i].config;
    names.add(server_path(i, "name"), c.name, "name " + quoted(c.name));
    addresses.add(server_path(i, "address"), c.ipv4, "address " + format_ipv4(c.ipv4));
  }
  Once<std::string> workers(context);
  for (std::size_t i = 0; i < t.workers.size(); ++i) {
    const TopologyWorker& w = t.workers[i];
    workers.add(worker_path(i, "name"), w.name, "name " + quoted(w.name));
    if (w.ipv4)
      addresses.add(worker_path(i, "address"), *w.ipv4, "address " + format_ipv4(*w.ipv4));
  }
}

template <typename List, typename NameOf>
std::string names_of(const List& list, NameOf name_of) {
  std::string names;
  for (const auto& item : list) names += (names.empty() ? "" : ", ") + name_of(item);
  return names;
}

// Returns true if `name` is a switch; reports a mistake otherwise.
bool check_switch_name(const TopologyIndex& index, ReadContext& context, const std::string& path,
                       const std::string& name) {
  const Topology& t = index.topology();
  if (!context.usable(path)) return false;
  if (index.switch_at(name)) return true;
  context.report(path, "there is no switch " + quoted(name) + "; allowed: " +
                           names_of(t.switches, [](const auto& s) { return s.config.name; }));
  return false;
}

void check_port_name(const TopologySwitch& sw, ReadContext& context, const std::string& path,
                     const std::string& port) {
  if (!context.usable(path)) return;
  for (const PortConfig& p : sw.config.ports)
    if (p.name == port) return;
  context.report(path, "switch " + sw.config.name + " has no port " + quoted(port) + "; allowed: " +
                           names_of(sw.config.ports, [](const auto& p) { return p.name; }));
}

void check_links(const TopologyIndex& index, ReadContext& context) {
  const Topology& t = index.topology();
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const TopologySwitch& sw = t.switches[i];
    for (const auto& [key, value] :
         {std::pair("parent_port", &sw.parent_port), std::pair("uplink", &sw.uplink)}) {
      if (!context.usable(switch_path(i, key)) || !context.usable(switch_path(i, "parent")))
        continue;
      if (value->empty() != sw.parent.empty())
        context.report(switch_path(i, key), sw.parent.empty()
                                                ? "is given without a parent"
                                                : "is missing; it is required with a parent");
    }
    if (sw.parent.empty()) continue;
    if (!sw.uplink.empty()) check_port_name(sw, context, switch_path(i, "uplink"), sw.uplink);
    if (!check_switch_name(index, context, switch_path(i, "parent"), sw.parent)) continue;
    if (!sw.parent_port.empty())
      check_port_name(t.switches[*index.parent_of(i)], context, switch_path(i, "parent_port"),
                      sw.parent_port);
  }
}

// No port may lead both up and down, or the tree would have a loop.
void check_uplinks_are_free(const Topology& t, ReadContext& context) {
  std::map<std::pair<std::string, std::string>, std::string> down;
  for (std::size_t i = 0; i < t.switches.size(); ++i)
    down.emplace(std::pair(t.switches[i].parent, t.switches[i].parent_port),
                 "switch " + t.switches[i].config.name);
  for (const TopologySwitch& sw : t.switches)
    for (const TopologyUplink& way : sw.other_uplinks)
      down.emplace(std::pair(way.parent, way.parent_port), "switch " + sw.config.name);
  for (const TopologyWorker& w : t.workers)
    down.emplace(std::pair(w.attached_to, w.port), "worker " + w.name);
  for (const TopologyServer& s : t.servers)
    down.emplace(std::pair(s.attached_to, s.port), "server " + s.config.name);
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const TopologySwitch& sw = t.switches[i];
    const auto check_free = [&](const std::string& uplink, const std::string& path) {
      const auto below = down.find({sw.config.name, uplink});
      if (!uplink.empty() && below != down.end())
        context.report(path, "port " + quoted(uplink) + " leads to " + below->second +
                                 "; allowed: a port of its own");
    };
    check_free(sw.uplink, switch_path(i, "uplink"));
    for (std::size_t w = 0; w < sw.other_uplinks.size(); ++w)
      check_free(sw.other_uplinks[w].uplink,
                 item_path(switch_path(i, "other_uplinks"), w) + ".uplink");
  }
}

void check_one_tree(const TopologyIndex& index, ReadContext& context) {
  const Topology& t = index.topology();
  std::string root;
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const TopologySwitch& sw = t.switches[i];
    if (!context.usable(switch_path(i, "parent"))) return;
    if (sw.parent.empty()) {
      if (!root.empty())
        context.report(item_path("switches", i), "a second root: " + quoted(sw.config.name) +
                                                     " has no parent, and neither has " +
                                                     quoted(root) + "; allowed: one");
      if (root.empty()) root = sw.config.name;
      continue;
    }
    std::set<std::string> seen;
    std::string way = sw.config.name;
    std::string name = sw.config.name;
    while (seen.insert(name).second) {
      const auto at = index.switch_at(name);
      if (!at || t.switches[*at].parent.empty()) break;
      name = t.switches[*at].parent;
      way += " -> " + name;
    }
    // Reports each switch of a cycle; not those that only lead into it.
    if (name == sw.config.name && way != name)
      context.report(switch_path(i, "parent"), "is a cycle: " + way + "; allowed: a tree");
  }
}

void check_udp_ports_agree(const Topology& t, ReadContext& context) {
  for (std::size_t i = 1; i < t.switches.size(); ++i)
    if (t.switches[i].config.udp_base_port != t.switches[0].config.udp_base_port)
      context.report(switch_path(i, "udp_base_port"),
                     "differs from that of " + t.switches[0].config.name + ", " +
                         std::to_string(t.switches[0].config.udp_base_port) +
                         "; allowed: the same for all switches of a tree");
}

void check_workers(const TopologyIndex& index, ReadContext& context) {
  const Topology& t = index.topology();
  for (std::size_t i = 0; i < t.workers.size(); ++i) {
    const TopologyWorker& w = t.workers[i];
    if (!check_switch_name(index, context, worker_path(i, "switch"), w.attached_to)) continue;
    check_port_name(t.switches[*index.switch_at(w.attached_to)], context, worker_path(i, "port"),
                    w.port);
  }
}

// Such paths are compared as texts.
bool is_plain(std::string_view path) {
  constexpr auto kNone = std::string_view::npos;
  return path.find("//") == kNone && path.find("/./") == kNone && path.find("/../") == kNone;
}

// A container gets the folder of its port's socket with all below it, and must find nothing else
// there.
void check_leased_port(const TopologySwitch& sw, const PortConfig& port, const std::string& path,
                       ReadContext& context) {
  const Devargs device = parse_devargs(port.devargs);
  const auto socket = device.get("socket");
  if (device.driver != "net_memif" || !socket || !socket->starts_with('/') || !is_plain(*socket) ||
      device.get("socket-abstract") != "no" || device.get("role") != "server")
    return context.report(path, "port " + quoted(port.name) +
                                    " is leased to containers; allowed: net_memif with "
                                    "role=server, socket-abstract=no and the path of a socket, "
                                    "without `.` and `..`");
  const std::string folder(socket->substr(0, socket->rfind('/')));
  const auto holds = [&](std::string_view name) {
    return !is_plain(name) || name.starts_with(folder + '/');
  };
  const auto refuse = [&](const std::string& other) {
    context.report(path, "containers that lease port " + quoted(port.name) + " get the folder " +
                             folder + ", which has " + other + "; allowed: a folder of its own");
  };
  const std::string& control = sw.config.control_socket;
  if (!control.empty() && holds(control)) refuse("the switch's control socket");
  for (const PortConfig& other : sw.config.ports) {
    if (other.name == port.name) continue;
    const Devargs device_there = parse_devargs(other.devargs);
    const auto there = device_there.get("socket");
    if (there && holds(*there)) refuse("the socket of port " + quoted(other.name));
  }
}

void check_leased_ports(const TopologyIndex& index, ReadContext& context) {
  const Topology& t = index.topology();
  std::map<std::pair<std::string, std::string>, std::string> leased;
  for (std::size_t i = 0; i < t.workers.size(); ++i) {
    const TopologyWorker& w = t.workers[i];
    const auto sw = index.switch_at(w.attached_to);
    if (w.node.empty() || !sw) continue;
    const auto [first, fresh] = leased.emplace(std::pair(w.attached_to, w.port), w.name);
    if (!fresh)
      context.report(worker_path(i, "node"), "port " + quoted(w.port) + " is leased as worker " +
                                                 first->second + "; allowed: each port once");
    for (const PortConfig& port : t.switches[*sw].config.ports)
      if (port.name == w.port)
        check_leased_port(t.switches[*sw], port, worker_path(i, "node"), context);
  }
}

void check_server_places(const TopologyIndex& index, ReadContext& context) {
  const Topology& t = index.topology();
  for (std::size_t i = 0; i < t.servers.size(); ++i) {
    const TopologyServer& s = t.servers[i];
    if (context.usable(server_path(i, "name")) && s.config.name == kRootHost)
      context.report(server_path(i, "name"), "means the root switch; allowed: any other name");
    if (!check_switch_name(index, context, server_path(i, "switch"), s.attached_to)) continue;
    check_port_name(t.switches[*index.switch_at(s.attached_to)], context, server_path(i, "port"),
                    s.port);
  }
  for (std::size_t i = 0; i < t.switches.size(); ++i)
    if (!t.switches[i].config.completion.hosts.empty())
      context.report(switch_path(i, "completion.hosts"),
                     "are `servers` in a topology; allowed: none");
}

// A model is on exactly one server, and no other host (T21).
void check_model(const Topology& t, std::size_t j, ReadContext& context) {
  const TopologyJob& job = t.jobs[j];
  check_optimizer(job.optimizer, job_path(j, "optimizer"), context);
  if (job.optimizer.kind == OptimizerKind::none) return;
  const std::string path = job_path(j, "completion_hosts");
  const auto& hosts = job.config.completion_hosts;
  if (!context.usable(path)) return;
  if (hosts.size() == 1 && hosts[0] != kRootHost && !find_switch(t, hosts[0])) return;
  context.report(path, "has " + std::to_string(hosts.size()) +
                           (hosts.size() == 1 ? " entry, a switch" : " entries") +
                           ", and the job's model is at one server; allowed: one of `servers`");
}

void check_members(const TopologyIndex& index, std::size_t j, ReadContext& context) {
  const Topology& t = index.topology();
  const TopologyJob& job = t.jobs[j];
  if (!context.usable(job_path(j, "workers")) || !context.usable(job_path(j, "members"))) return;
  Once<std::uint32_t> ranks(context);
  Once<std::string> workers(context);
  const std::size_t known = context.errors().size();
  std::set<std::uint32_t> placed;
  for (const TopologyMember& m : members_of(t, job)) placed.insert(m.rank);
  for (std::size_t m = 0; m < job.members.size(); ++m) {
    const std::string path = item_path(job_path(j, "members"), m);
    const TopologyMember& member = job.members[m];
    ranks.add(path + ".rank", member.rank, "rank " + std::to_string(member.rank));
    workers.add(path + ".worker", member.worker, "worker " + quoted(member.worker));
    if (context.usable(path + ".rank") && member.rank >= job.config.workers)
      context.report(path + ".rank", "rank " + std::to_string(member.rank) +
                                         " is outside the job; allowed: 0 to " +
                                         std::to_string(job.config.workers - 1));
    if (context.usable(path + ".worker") && !index.worker_at(member.worker))
      context.report(path + ".worker",
                     "there is no worker " + quoted(member.worker) +
                         "; allowed: " + names_of(t.workers, [](const auto& w) { return w.name; }));
  }
  if (context.errors().size() > known) return;
  std::string nowhere;
  for (std::uint32_t rank = 0; rank < job.config.workers; ++rank)
    if (!placed.contains(rank)) nowhere += (nowhere.empty() ? "" : ", ") + std::to_string(rank);
  if (!nowhere.empty())
    context.report(job_path(j, job.members.empty() ? "workers" : "members"),
                   "no worker has rank " + nowhere + "; allowed: " +
                       std::to_string(job.config.workers) + " workers, each with a rank");
}

void check_somebody_aggregates(const TopologyIndex& index, std::size_t j, ReadContext& context) {
  const Topology& t = index.topology();
  for (const TopologyMember& m : members_of(t, t.jobs[j])) {
    const TopologyWorker& w = t.workers[*index.worker_at(m.worker)];
    if (index.aggregating(Hop{*index.switch_at(w.attached_to), w.port})) continue;
    context.report(item_path("jobs", j),
                   "no switch between worker " + quoted(w.name) + " and the root aggregates");
    return;
  }
}

// T15: a switch sends one value, so its ranks form one bracket; and it sends that unrounded,
// because the completion engine could not tell where else a value was rounded.
void check_spanning_job(const Topology& t, std::size_t j, const JobShape& tree,
                        ReadContext& context) {
  const JobConfig& job = t.jobs[j].config;
  std::size_t spans = 0;
  for (std::size_t i = 0; i < t.switches.size(); ++i) spans += tree.takes_part(i) ? 1 : 0;
  if (spans < 2) return;
  if (job.order == wire::Order::reproducible && job.partials == wire::Partials::narrow)
    context.report(job_path(j, "partials"),
                   "a reproducible job that spans " + std::to_string(spans) +
                       " switches would be rounded at each of them; allowed: wide");
  if (!job.bracketing || bracketing_problem(*job.bracketing, job.workers)) return;
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    if (!tree.takes_part(i) || find_bracket(*job.bracketing, tree.ranks_at(i))) continue;
    context.report(job_path(j, "bracketing"),
                   "ranks " + ranks_text(tree.ranks_at(i)) + ", which " +
                       t.switches[i].config.name +
                       " sums, are no bracket of it; allowed: one for the ranks of each switch");
  }
}

// Protocol rule 13: otherwise whole subtrees would count as late.
void check_deadlines(const Topology& t, const JobShape& tree, ReadContext& context) {
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const auto below = tree.takes_part(i) ? tree.deadline_below(i) : std::nullopt;
    if (!below || tree.deadline_at(i) > *below) continue;
    context.report(switch_path(i, "deadline"), format_duration(tree.deadline_at(i)) +
                                                   " is not more than " + format_duration(*below) +
                                                   " of a switch below it; allowed: more than " +
                                                   format_duration(*below));
  }
}

// Checks each node's configuration, as its switch will see it.
void check_nodes(const TopologyIndex& index, std::span<const JobShape> shapes,
                 ReadContext& context) {
  const Topology& t = index.topology();
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const SwitchConfig config = node_config(index, i, shapes);
    std::vector<ReadContext::Renaming> parts;
    for (std::size_t at = 0; at < config.jobs.size(); ++at)
      for (std::size_t j = 0; j < t.jobs.size(); ++j)
        if (t.jobs[j].config.id == config.jobs[at].id)
          parts.push_back({item_path("jobs", j), item_path("jobs", at)});
    for (const char* key : {"ports", "forwarding", "metrics", "control"})
      parts.push_back({switch_path(i, key), key});
    parts.push_back({item_path("switches", i), "switch"});
    ReadContext part = context.part(parts);
    check(config, part);
    context.adopt(part, parts);
  }
}

}  // namespace

void check_topology(const Topology& topology, ReadContext& context) {
  const TopologyIndex index(topology);
  check_unique(topology, context);
  check_links(index, context);
  check_uplinks_are_free(topology, context);
  check_one_tree(index, context);
  check_udp_ports_agree(topology, context);
  check_workers(index, context);
  check_leased_ports(index, context);
  check_server_places(index, context);
  for (std::size_t j = 0; j < topology.jobs.size(); ++j) {
    check_members(index, j, context);
    check_host_names(topology, j, context);
    check_model(topology, j, context);
  }
  if (!context.errors().empty()) return;  // the following checks require a tree
  Once<std::uint32_t> job_ids(context);
  for (std::size_t j = 0; j < topology.jobs.size(); ++j) {
    job_ids.add(job_path(j, "id"), topology.jobs[j].config.id,
                "id " + std::to_string(topology.jobs[j].config.id));
    check_somebody_aggregates(index, j, context);
  }
  if (!context.errors().empty()) return;
  const std::vector<JobShape> shapes = shapes_of(index);
  for (std::size_t j = 0; j < topology.jobs.size(); ++j) {
    check_spanning_job(topology, j, shapes[j], context);
    check_deadlines(topology, shapes[j], context);
    check_host_switches(topology, j, context);
  }
  if (!context.errors().empty()) return;
  check_servers(topology, context);
  check_paths(topology, context);
  check_nodes(index, shapes, context);
}

}  // namespace tributary::config
