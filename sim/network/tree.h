// A tree of aggregating switches as a scenario describes it: named, or generated.
//
//   switches:                                      fat_tree: {levels: 2, radix: 4}
//     - {name: root}                                 as many leaves as the workers need, `radix` of
//     - {name: A, parent: root, workers: 3}          them on a switch, and so on up to one root
//     - {name: B, parent: root, workers: 2}
//
// Workers are attached to the switches in the order in which those stand, over all jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::sim {

struct TreeSwitch {
  std::string name;
  std::string parent;  // empty: the root
  std::uint32_t workers = 0;

  bool operator==(const TreeSwitch&) const = default;
};

struct FatTree {
  std::uint32_t levels = 0;  // of switches; 0: no such tree
  std::uint32_t radix = 0;   // children of a switch
};

// The root first, each switch after its parent; leaves carry `workers` as evenly as they can. Only
// when workers <= radix^levels.
std::vector<TreeSwitch> generate(const FatTree& tree, std::uint32_t workers);
// How many workers fit; saturates.
std::uint64_t capacity_of(const FatTree& tree);

// The mistake in entry `index` of a list of switches; empty: none.
struct TreeProblem {
  std::size_t index;
  std::string key;
  std::string what;
};
std::vector<TreeProblem> problems_of(const std::vector<TreeSwitch>& switches,
                                     std::uint32_t workers);

}  // namespace tributary::sim
