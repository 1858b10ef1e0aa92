#include "manager/topology/cabling.h"

#include <algorithm>

#include "config/topology/topology_tree.h"

namespace tributary::manager {
namespace {

std::string text_of(const std::string& node, const std::string& port) {
  return node + "." + port;
}

// The other ends of the links that the topology has at a port, or who is attached there.
std::vector<std::string> ends_at(const config::Topology& topology, const config::TopologySwitch& sw,
                                 const std::string& port) {
  std::vector<std::string> ends;
  const std::string& own = sw.config.name;
  if (!sw.parent.empty() && sw.uplink == port) ends.push_back(text_of(sw.parent, sw.parent_port));
  for (const auto& way : sw.other_uplinks)
    if (way.uplink == port) ends.push_back(text_of(way.parent, way.parent_port));
  for (const auto& other : topology.switches) {
    const std::string& name = other.config.name;
    if (other.parent == own && other.parent_port == port)
      ends.push_back(text_of(name, other.uplink));
    for (const auto& way : other.other_uplinks)
      if (way.parent == own && way.parent_port == port) ends.push_back(text_of(name, way.uplink));
  }
  if (!ends.empty()) return ends;
  for (const auto& worker : topology.workers)
    if (worker.attached_to == own && worker.port == port) ends.push_back("worker " + worker.name);
  for (const auto& server : topology.servers)
    if (server.attached_to == own && server.port == port)
      ends.push_back("server " + server.config.name);
  return ends;
}

std::string listed(const std::vector<std::string>& ends) {
  std::string text;
  for (const std::string& end : ends) text += (text.empty() ? "" : " or ") + end;
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::vector<std::string> wrong_cables(const config::Topology& topology, const std::string& node,
                                      const std::vector<Neighbour>& heard) {
  std::vector<std::string> wrong;
  const auto own = config::find_switch(topology, node);
  if (!own) return wrong;
  for (const Neighbour& neighbour : heard) {
    if (!config::find_switch(topology, neighbour.system)) continue;
    const auto ends = ends_at(topology, topology.switches[*own], neighbour.port);
    const std::string is = text_of(neighbour.system, neighbour.its_port);
    if (std::find(ends.begin(), ends.end(), is) != ends.end()) continue;
    wrong.push_back("port " + neighbour.port + " leads to " + is + ", and the topology says " +
                    listed(ends));
  }
  std::sort(wrong.begin(), wrong.end());
  return wrong;
}

}  // namespace tributary::manager
