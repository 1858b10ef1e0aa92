#include "config/topology/assigned.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

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
    return all;
  }();
  return fields;
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
  return {head.version, head.node, std::move(head.topology), std::string(text)};
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

std::string dump_assigned(const Version& version, const std::string& node,
                          const Topology& topology) {
  return "term: " + std::to_string(version.term) +
         "\nrevision: " + std::to_string(version.revision) + "\nnode: " + format_text(node) +
         "\ntopology:\n" + write_fields(topology_schema(), topology, 1);
}

SwitchConfig merged(SwitchConfig local, const Assigned& assigned) {
  const SwitchConfig told = node_config(assigned.topology, assigned.node);
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
  local.jobs = told.jobs;
  local.completion.hosts = told.completion.hosts;
  ReadContext context("assigned to " + assigned.node);
  check(local, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return local;
}

bool is_assigned_key(std::string_view path) {
  return path == "jobs" || path.starts_with("jobs.") || path.starts_with("jobs[");
}

}  // namespace tributary::config
