// root{A{w0, w1, w2}, B{w3, w4}}: the tree of most tests of the manager.
#pragma once

#include <string>

#include "manager/topology/fabric.h"

namespace tributary::manager {

inline config::SwitchConfig leaf_switch(const std::string& name, std::uint32_t id,
                                        std::uint32_t ipv4) {
  config::SwitchConfig config;
  config.name = name;
  config.id = id;
  config.ipv4 = ipv4;
  config.memory.reserve_megabytes = 64;
  for (const char* port : {"p0", "p1", "p2", "p3", "spare", "up"})
    config.ports.push_back({.name = port, .devargs = "net_null_" + name + "_" + port});
  return config;
}

inline Inventory two_level_tree() {
  Inventory inventory;
  inventory.root = "root";
  inventory.switches = {leaf_switch("root", 1, 0x0A00000A), leaf_switch("A", 2, 0x0A00000B),
                        leaf_switch("B", 3, 0x0A00000C)};
  inventory.links = {{{"root", "p0"}, {"A", "up"}}, {{"B", "up"}, {"root", "p1"}}};
  for (int i = 0; i < 5; ++i)
    inventory.workers.push_back({"w" + std::to_string(i), i < 3 ? "A" : "B",
                                 "p" + std::to_string(i < 3 ? i : i - 3), std::nullopt});
  return inventory;
}

// Each worker's port is leased to containers: w0 and w1 by node x, w2 by node y, w3 and w4 by z.
inline Inventory leased_tree(std::uint32_t slots = 128) {
  Inventory inventory = two_level_tree();
  for (auto& sw : inventory.switches) {
    sw.slots = slots;
    for (auto& port : sw.ports)
      port.devargs = "net_memif_" + sw.name + "_" + port.name + ",socket=/run/" + sw.name + "/" +
                     port.name + "/memif,socket-abstract=no,role=server";
  }
  const char* const nodes[] = {"x", "x", "y", "z", "z"};
  for (std::size_t i = 0; i < inventory.workers.size(); ++i) inventory.workers[i].node = nodes[i];
  return inventory;
}

}  // namespace tributary::manager
