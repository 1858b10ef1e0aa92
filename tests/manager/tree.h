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

}  // namespace tributary::manager
