#include "config/topology/assigned.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "config/check/check.h"
#include "config/text/codec.h"
#include "config/text/file.h"
#include "config/topology/topology_tree.h"

namespace tributary::config {
namespace {

struct Head {
  Version version;
  std::string node;
  Topology topology;
  std::string open_port;
};

const Fields<Version>& version_fields() {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  static const Fields<Version> fields = {
      scalar("term", &Version::term, integer<std::uint64_t>(1, kMost), "Term of the manager.",
             Presence::required),
      scalar("revision", &Version::revision, integer<std::uint64_t>(1, kMost),
             "Revision of the document.", Presence::required)};
  return fields;
}

const Fields<Head>& head_fields() {
  static const Fields<Head> fields = [] {
    Fields<Head> all;
    for (const Field<Version>& field : version_fields()) {
      Field<Head> lifted;
      lifted.name = field.name;
      lifted.presence = field.presence;
      lifted.read = [field](ReadContext& context, const std::string& path, const Node& node,
                            Head& head) { field.read(context, path, node, head.version); };
      all.push_back(lifted);
    }
    all.push_back(scalar("node", &Head::node, identifier(), "The switch.", Presence::required));
    all.push_back(mapping<Head, Topology>(
        "topology", [](auto& head) -> auto& { return head.topology; }, topology_schema(),
        "The tree and its jobs.", Presence::required));
    all.push_back(scalar("open_port", &Head::open_port, identifier(),
                         "Port to a switch that moves, open beside the one in use."));
    return all;
  }();
  return fields;
}

Node* child_in(Node& mapping, std::string_view key) {
  for (Entry& entry : mapping.entries)
    if (entry.key.text == key) return &entry.value;
  return nullptr;
}

Node scalar_at(const Node& place, const std::string& text) {
  Node node;
  node.kind = Node::Kind::scalar;
  node.mark = place.mark;
  node.text = text;
  return node;
}

// A topology with the ways up that the manager's has in use.
Document with_ways(Document document, const Topology& assigned) {
  Node* const switches = document.node.empty() ? nullptr : child_in(document.root, "switches");
  if (switches == nullptr) return document;
  for (Node& entry : switches->items) {
    const Node* const name = child_in(entry, "name");
    const auto at = name == nullptr ? std::nullopt : find_switch(assigned, name->text);
    if (!at || assigned.switches[*at].other_uplinks.empty() || child_in(entry, "uplink") == nullptr)
      continue;
    Node way = scalar_at(entry, assigned.switches[*at].uplink);
    if (Node* const there = child_in(entry, "active_uplink"))
      *there = std::move(way);
    else
      entry.entries.push_back({scalar_at(entry, "active_uplink"), std::move(way)});
  }
  return document;
}

// Ports of the switch that are ends of ways up, of a switch that has several.
std::set<std::string> ends_of_ways(const Topology& topology, const std::string& node) {
  std::set<std::string> ports;
  for (const TopologySwitch& sw : topology.switches) {
    if (sw.other_uplinks.empty()) continue;
    const auto add = [&](const std::string& parent, const std::string& there,
                         const std::string& own) {
      if (sw.config.name == node) ports.insert(own);
      if (parent == node) ports.insert(there);
    };
    add(sw.parent, sw.parent_port, sw.uplink);
    for (const TopologyUplink& way : sw.other_uplinks) add(way.parent, way.parent_port, way.uplink);
  }
  return ports;
}

// Ends of ways are on the tree where the document has them in use, and off it otherwise: also where
// the file has this switch alone, and so no ways.
void open_ways(const Topology& topology, const SwitchConfig& told, SwitchConfig& local) {
  const auto uses_paths = [](const PortConfig& port) {
    return port.vlan.mode == VlanMode::paths || !port.paths.empty();
  };
  const bool paths = std::any_of(local.ports.begin(), local.ports.end(), uses_paths);
  const std::set<std::string> ends = ends_of_ways(topology, told.name);
  for (PortConfig& port : local.ports) {
    const auto same = [&](const PortConfig& other) { return other.name == port.name; };
    const auto there = std::find_if(told.ports.begin(), told.ports.end(), same);
    if (!ends.contains(port.name) || there == told.ports.end() ||
        is_off_the_tree(there->vlan.mode) == is_off_the_tree(port.vlan.mode))
      continue;
    port.vlan = there->vlan;
    if (is_off_the_tree(port.vlan.mode))
      port.vlan = {paths ? VlanMode::paths : VlanMode::none, {}, {}, {}};
  }
}

}  // namespace

Assigned parse_assigned(std::string_view text, const std::string& file_name) {
  ReadContext context(file_name);
  Head head;
  const Node root = parse_text(text, file_name);
  read_mapping(context, "", root, head_fields(), head);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  const std::vector<ReadContext::Renaming> inside = {{"topology.switches", "switches"},
                                                     {"topology.workers", "workers"},
                                                     {"topology.servers", "servers"},
                                                     {"topology.jobs", "jobs"}};
  for (auto& job : head.topology.jobs)
    if (job.config.name.empty()) job.config.name = "job-" + std::to_string(job.config.id);
  for (const auto& [key, value] : root.entries)
    if (key.text == "topology") settle_planes(value, head.topology);
  ReadContext tree = context.part(inside);
  use_active_uplinks(head.topology, tree);
  check_topology(head.topology, tree);
  context.adopt(tree, inside);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return {head.version, head.node, std::move(head.topology), std::string(text),
          std::move(head.open_port)};
}

bool looks_assigned(std::string_view text) {
  try {
    const Node root = parse_yaml(text);
    const auto has = [&root](const char* key) {
      return std::any_of(root.entries.begin(), root.entries.end(),
                         [key](const Entry& entry) { return entry.key.text == key; });
    };
    return has("term") && has("revision") && has("node") && has("topology");
  } catch (const YamlError&) {
    return false;
  }
}

std::string dump_assigned(const Version& version, const std::string& node, const Topology& topology,
                          const std::string& open_port) {
  return "term: " + std::to_string(version.term) +
         "\nrevision: " + std::to_string(version.revision) + "\nnode: " + format_text(node) +
         (open_port.empty() ? "" : "\nopen_port: " + format_text(open_port)) + "\ntopology:\n" +
         write_fields(topology_schema(), topology, 1);
}

SwitchConfig told_config(const Assigned& assigned) {
  SwitchConfig told = node_config(assigned.topology, assigned.node);
  const SwitchConfig& on_tree =
      assigned.topology.switches[*find_switch(assigned.topology, assigned.node)].config;
  for (std::size_t i = 0; i < told.ports.size(); ++i)
    if (told.ports[i].name == assigned.open_port) told.ports[i].vlan = on_tree.ports[i].vlan;
  return told;
}

SwitchConfig merged(const Document& local, const Assigned& assigned) {
  return merged(switch_config(with_ways(local, assigned.topology)), assigned);
}

SwitchConfig merged(SwitchConfig local, const Assigned& assigned) {
  const SwitchConfig told = told_config(assigned);
  if (!local.jobs.empty())
    throw std::invalid_argument("the switch's own file has jobs (the first is " +
                                local.jobs[0].name +
                                "), and a manager assigns them; allowed: one of both");
  if (local.open_jobs.enabled())
    throw std::invalid_argument(
        "the switch's own file has switch.open_jobs.ids, so ranks open jobs, and a manager assigns "
        "them; allowed: one of both");
  const auto compare = [&](const char* what, const std::string& here, const std::string& there) {
    if (here != there)
      throw std::invalid_argument(std::string("the assigned document is for a switch with ") +
                                  what + " " + there + ", and this one has " + here);
  };
  compare("address", format_ipv4(local.ipv4), format_ipv4(told.ipv4));
  compare("id", std::to_string(local.id), std::to_string(told.id));
  compare("udp_base_port", std::to_string(local.udp_base_port), std::to_string(told.udp_base_port));
  open_ways(assigned.topology, told, local);
  local.jobs = told.jobs;
  local.completion.hosts = told.completion.hosts;
  ReadContext context("assigned to " + assigned.node);
  check(local, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return local;
}

bool is_assigned_key(std::string_view path) {
  if (path.starts_with("switches.") && path.ends_with(".active_uplink")) return true;
  return path == "jobs" || path.starts_with("jobs.") || path.starts_with("jobs[");
}

}  // namespace tributary::config
