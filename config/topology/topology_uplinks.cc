// Further ways up of a switch (`other_uplinks`), of which one is in use at a time.
#include <algorithm>
#include <set>
#include <utility>

#include "config/text/codec.h"
#include "config/topology/topology_tree.h"

namespace tributary::config {
namespace {

std::string way_path(std::size_t sw, std::size_t way, const char* key) {
  return item_path(item_path("switches", sw) + ".other_uplinks", way) + '.' + key;
}

bool has_port(const TopologySwitch& sw, const std::string& name) {
  return std::any_of(sw.config.ports.begin(), sw.config.ports.end(),
                     [&](const PortConfig& port) { return port.name == name; });
}

void check_port(const TopologySwitch& sw, const std::string& name, const std::string& path,
                ReadContext& context) {
  if (!has_port(sw, name))
    context.report(path, "switch " + sw.config.name + " has no port " + quoted(name));
}

void check_way(const Topology& t, std::size_t i, std::size_t w, ReadContext& context) {
  const TopologySwitch& sw = t.switches[i];
  const TopologyUplink& way = sw.other_uplinks[w];
  check_port(sw, way.uplink, way_path(i, w, "uplink"), context);
  const auto parent = find_switch(t, way.parent);
  if (!parent || *parent == i)
    return context.report(way_path(i, w, "parent"), quoted(way.parent) +
                                                        " is no other switch of the file; allowed: "
                                                        "the name of one");
  check_port(t.switches[*parent], way.parent_port, way_path(i, w, "parent_port"), context);
}

void check_ways(const Topology& t, std::size_t i, ReadContext& context) {
  const TopologySwitch& sw = t.switches[i];
  if (sw.other_uplinks.empty() && sw.active_uplink.empty()) return;
  if (sw.parent.empty() || sw.uplink.empty())
    return context.report(item_path("switches", i),
                          "has other ways up, and no parent; allowed: with parent, parent_port and "
                          "uplink");
  std::set<std::string> own = {sw.uplink};
  std::string names = sw.uplink;
  for (std::size_t w = 0; w < sw.other_uplinks.size(); ++w) {
    check_way(t, i, w, context);
    const std::string& uplink = sw.other_uplinks[w].uplink;
    names.append(", ").append(uplink);
    if (!own.insert(uplink).second)
      context.report(way_path(i, w, "uplink"),
                     quoted(uplink) + " is the port of another way; allowed: one of its own");
  }
  if (!sw.active_uplink.empty() && !own.contains(sw.active_uplink))
    context.report(
        item_path("switches", i) + ".active_uplink",
        quoted(sw.active_uplink) + " is no way up of " + sw.config.name + "; allowed: " + names);
}

void use_active_uplink(TopologySwitch& sw) {
  if (sw.active_uplink.empty() || sw.active_uplink == sw.uplink) return;
  const auto way = std::find_if(sw.other_uplinks.begin(), sw.other_uplinks.end(),
                                [&](const auto& w) { return w.uplink == sw.active_uplink; });
  std::swap(sw.parent, way->parent);
  std::swap(sw.parent_port, way->parent_port);
  std::swap(sw.uplink, way->uplink);
}

}  // namespace

void use_active_uplinks(Topology& topology, ReadContext& context) {
  if (!context.errors().empty()) return;
  for (std::size_t i = 0; i < topology.switches.size(); ++i) check_ways(topology, i, context);
  if (!context.errors().empty()) return;
  for (TopologySwitch& sw : topology.switches) use_active_uplink(sw);
}

std::vector<std::string> standby_ports(const Topology& topology, std::size_t node) {
  const TopologySwitch& own = topology.switches[node];
  std::set<std::string> ports;
  for (const TopologyUplink& way : own.other_uplinks) ports.insert(way.uplink);
  for (const TopologySwitch& below : topology.switches)
    for (const TopologyUplink& way : below.other_uplinks)
      if (way.parent == own.config.name) ports.insert(way.parent_port);
  if (ports.empty()) return {};
  // A network of other switches may lead several ways to one port.
  for (const TopologySwitch& below : topology.switches)
    if (below.parent == own.config.name) ports.erase(below.parent_port);
  return {ports.begin(), ports.end()};
}

}  // namespace tributary::config
