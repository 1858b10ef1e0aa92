// A small tree of switches that tests of topologies change, a piece of text at a time.
#pragma once

#include <string>
#include <vector>

#include "config/topology/topology.h"
#include "tests/config/sample.h"

namespace tributary::config {

inline JobConfig job_at(const Topology& t, const std::string& node, std::size_t job = 0) {
  return node_config(t, node).jobs.at(job);
}

// The ports of a switch whose VLAN is of that kind.
inline std::vector<std::string> ports_in(const Topology& t, const std::string& node,
                                         VlanMode mode) {
  std::vector<std::string> names;
  for (const PortConfig& port : node_config(t, node).ports)
    if (port.vlan.mode == mode) names.push_back(port.name);
  return names;
}

// root{A{0}, m{B{1}, 2}}: m only forwards unless a test says otherwise.
inline constexpr const char* kSmall =
    "switches:\n"                                                                   // 1
    "  - {name: root, id: 1, address: 10.0.0.1, ports: [{name: a, devargs: d0},\n"  // 2
    "     {name: m, devargs: d1}]}\n"                                               // 3
    "  - {name: A, id: 2, address: 10.0.0.2, parent: root, parent_port: a,\n"       // 4
    "     uplink: up, ports: [{name: up, devargs: d0}, {name: w, devargs: d1}]}\n"  // 5
    "  - {name: m, id: 3, address: 10.0.0.3, parent: root, parent_port: m,\n"       // 6
    "     uplink: up, aggregate: false,\n"                                          // 7
    "     ports: [{name: up, devargs: d0}, {name: b, devargs: d1},\n"               // 8
    "     {name: w, devargs: d2}]}\n"                                               // 9
    "  - {name: B, id: 4, address: 10.0.0.4, parent: m, parent_port: b,\n"          // 10
    "     uplink: up, ports: [{name: up, devargs: d0}, {name: w, devargs: d1}]}\n"  // 11
    "workers:\n"                                                                    // 12
    "  - {name: x, switch: A, port: w, address: 10.0.1.1}\n"                        // 13
    "  - {name: y, switch: B, port: w, address: 10.0.1.2}\n"                        // 14
    "  - {name: z, switch: m, port: w}\n"                                           // 15
    "jobs:\n"                                                                       // 16
    "  - {id: 1, workers: 3, deadline: 8s}\n";                                      // 17

inline std::string small_with(const std::string& from, const std::string& to) {
  return replaced(kSmall, from, to);
}

inline std::vector<std::string> topology_errors(const std::string& text) {
  return errors_of(text, parse_topology, "t.yaml");
}

}  // namespace tributary::config
