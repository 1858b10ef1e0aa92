#include "sim/network/tree.h"

#include <algorithm>
#include <map>

namespace tributary::sim {
namespace {

std::string name_at(std::uint32_t level, std::uint32_t index) {
  std::string name = "s";
  return name.append(std::to_string(level)).append(".").append(std::to_string(index));
}

// The share of one of `parts` when `whole` is dealt out evenly, in order.
std::uint32_t share(std::uint32_t whole, std::uint32_t parts, std::uint32_t index) {
  return static_cast<std::uint32_t>(std::uint64_t{whole} * (index + 1) / parts -
                                    std::uint64_t{whole} * index / parts);
}

}  // namespace

std::uint64_t capacity_of(const FatTree& tree) {
  std::uint64_t capacity = 1;
  for (std::uint32_t level = 0; level < tree.levels && capacity < UINT32_MAX; ++level)
    capacity *= tree.radix;
  return capacity;
}

std::vector<TreeSwitch> generate(const FatTree& tree, std::uint32_t workers) {
  // From the leaves up: how many switches each level has.
  std::vector<std::uint32_t> counts;
  std::uint32_t below = workers;
  for (std::uint32_t level = 0; level + 1 < tree.levels; ++level)
    counts.push_back(below = std::max(1u, (below + tree.radix - 1) / tree.radix));
  counts.push_back(1);
  std::vector<TreeSwitch> switches;
  for (std::uint32_t up = tree.levels; up-- > 0;) {
    const std::uint32_t level = tree.levels - 1 - up;  // the root's is 0
    for (std::uint32_t i = 0; i < counts[up]; ++i) {
      TreeSwitch s;
      s.name = name_at(level, i);
      if (level > 0) {
        const auto above = std::uint64_t{i} * counts[up + 1] / counts[up];
        s.parent = name_at(level - 1, static_cast<std::uint32_t>(above));
      }
      if (up == 0) s.workers = share(workers, counts[0], i);
      switches.push_back(std::move(s));
    }
  }
  return switches;
}

std::vector<TreeProblem> problems_of(const std::vector<TreeSwitch>& switches,
                                     std::uint32_t workers) {
  std::vector<TreeProblem> problems;
  std::map<std::string, std::size_t> known;
  std::uint64_t hung = 0;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const TreeSwitch& s = switches[i];
    hung += s.workers;
    if (i == 0 && !s.parent.empty())
      problems.push_back({i, "parent", "the first switch is the root and has no parent"});
    if (i > 0 && s.parent.empty())
      problems.push_back(
          {i, "name",
           "'" + s.name + "' has no parent; '" + switches[0].name + "' is the root already"});
    if (i > 0 && !s.parent.empty() && !known.contains(s.parent))
      problems.push_back({i, "parent", "no switch before it is called '" + s.parent + "'"});
    if (!known.emplace(s.name, i).second)
      problems.push_back({i, "name", "'" + s.name + "' is the name of another switch, too"});
  }
  if (!switches.empty() && hung != workers)
    problems.push_back({switches.size() - 1, "workers",
                        "the switches carry " + std::to_string(hung) + " workers, the jobs have " +
                            std::to_string(workers)});
  return problems;
}

}  // namespace tributary::sim
