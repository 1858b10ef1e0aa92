#include "manager/topology/ways.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "config/topology/topology_tree.h"

namespace tributary::manager {
namespace {

void fail_on(const config::ReadContext& context) {
  if (!context.errors().empty()) throw std::invalid_argument(context.errors()[0].message);
}

}  // namespace

config::Topology with_way(config::Topology topology, const std::string& node,
                          const std::string& uplink) {
  const auto at = config::find_switch(topology, node);
  if (!at) {
    std::string names;
    for (const auto& sw : topology.switches)
      names.append(names.empty() ? "" : ", ").append(sw.config.name);
    throw std::invalid_argument("there is no switch " + node + "; allowed: " + names);
  }
  config::TopologySwitch& sw = topology.switches[*at];
  if (sw.parent.empty())
    throw std::invalid_argument("switch " + node + " is the root, which has no way up");
  sw.active_uplink = uplink;
  config::ReadContext context("topology");
  config::use_active_uplinks(topology, context);
  fail_on(context);
  config::check_topology(topology, context);
  fail_on(context);
  return topology;
}

config::Topology with_ways(config::Topology topology, Ways& ways) {
  std::erase_if(ways, [&](const auto& way) { return !config::find_switch(topology, way.first); });
  // Together they may be a tree where some of them alone are none.
  config::Topology all = topology;
  for (const auto& [node, uplink] : ways)
    all.switches[*config::find_switch(all, node)].active_uplink = uplink;
  config::ReadContext context("topology");
  config::use_active_uplinks(all, context);
  if (context.errors().empty()) config::check_topology(all, context);
  if (context.errors().empty()) return all;
  for (auto way = ways.begin(); way != ways.end();) try {
      topology = with_way(topology, way->first, way->second);
      ++way;
    } catch (const std::invalid_argument&) {
      way = ways.erase(way);
    }
  return topology;
}

std::string way_of(const config::Topology& topology, const std::string& node) {
  const auto at = config::find_switch(topology, node);
  return at ? topology.switches[*at].uplink : "";
}

}  // namespace tributary::manager
