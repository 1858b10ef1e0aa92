// L{main, A, B}, and R{w1, w2}, which goes up by A (port a) or by B (port b).
#pragma once

#include <string>

#include "config/topology/topology.h"

namespace tributary::manager {

// `sums`: A and B aggregate. `more`: keys of B.
inline config::Topology two_ways(bool sums = false, const std::string& more = "") {
  const auto ports = [](const std::string& sw, std::initializer_list<const char*> names) {
    std::string text = ", memory: {reserve_megabytes: 64}, ports: [";
    for (const char* name : names)
      text.append("{name: ").append(name).append(", devargs: net_null_").append(sw).append(name) +=
          "}, ";
    return text + "]}\n";
  };
  const std::string between = sums ? "" : ", aggregate: false";
  return config::parse_topology(
      "switches:\n"
      "  - {name: L, id: 1, address: 10.0.0.1" +
          ports("L", {"main", "a", "b"}) +
          "  - {name: A, id: 2, address: 10.0.0.2, parent: L, parent_port: a, uplink: up" +
          between + ports("A", {"up", "r"}) +
          "  - {name: B, id: 3, address: 10.0.0.3, parent: L, parent_port: b, uplink: up" +
          between + more + ports("B", {"up", "r", "x"}) +
          "  - {name: R, id: 4, address: 10.0.0.4, parent: A, parent_port: r, uplink: a, "
          "other_uplinks: [{parent: B, parent_port: r, uplink: b}]" +
          ports("R", {"a", "b", "w1", "w2", "x"}) +
          "workers:\n"
          "  - {name: main, switch: L, port: main}\n"
          "  - {name: w1, switch: R, port: w1}\n"
          "  - {name: w2, switch: R, port: w2}\n",
      "two_ways.yaml");
}

}  // namespace tributary::manager
