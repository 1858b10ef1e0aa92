// The score of a node for a pod, lower is better, in points:
//
//   100 × load    mean of the least loaded devices that it could have, else of the CPUs
//   10 × hops     to the job's nearest switch
//   20            where other pods of the group have other leaf switches
//   50 × share    of the kind's devices in use (spread), or free (pack)
#pragma once

#include <string>
#include <vector>

#include "manager/pods/scheduler.h"

namespace tributary::manager {

struct Score {
  int load = 0;
  int distance = 0;
  int leaf = 0;
  int packing = 0;
  [[nodiscard]] int points() const { return load + distance + leaf + packing; }
  // "score 35: load 25, distance 10, leaf 0, spread 0"
  [[nodiscard]] std::string text(bool pack) const;
};

// `leaf`: of the pods of the group that have a place; empty: none has.
Score score(const Node& node, const Ask& ask, const std::string& leaf, const Distances& distances,
            const Thresholds& thresholds);

}  // namespace tributary::manager
