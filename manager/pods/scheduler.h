// Places a pod, or the pods of a group at once: all of them that have to be, or none.
//
//   filter (filter.h) ─▶ score each node ─▶ search with back-tracking ─▶ spots, or the reason
//
// The search is exact: it finds a placement wherever there is one. It gives up after kMostSteps,
// and says so. States that lead nowhere are remembered; nodes and devices that no pod can tell
// apart count as one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "manager/pods/filter.h"

namespace tributary::manager {

inline constexpr std::size_t kMostSteps = 20'000;

struct Spot {
  std::size_t node = 0;
  std::vector<std::size_t> devices;  // indices, ascending

  bool operator==(const Spot&) const = default;
};

struct Gang {
  std::vector<Ask> asks;
  std::size_t least = 1;  // asks that have to be placed at once
  Together together = Together::anywhere;
};

// Hops between the switch of a node and the nearest one of a job; nodes without a figure are far.
struct Distances {
  std::map<std::pair<std::string, std::string>, unsigned> hops;  // (job, leaf)
  [[nodiscard]] unsigned of(const std::string& job, const std::string& leaf) const;
};

struct Placement {
  std::vector<std::optional<Spot>> spots;  // in the order of the asks; nullopt: not this time
  std::vector<std::string> reasons;        // the score where placed, else why not
  bool placed = false;                     // at least `least` have a spot
};

Placement schedule(const std::vector<Node>& nodes, const Gang& gang, const Distances& distances,
                   const Thresholds& thresholds);

}  // namespace tributary::manager
