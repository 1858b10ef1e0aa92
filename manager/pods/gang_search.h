// Back-tracking over the places of a group's pods, on copies of the nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "manager/pods/score.h"

namespace tributary::manager {

class GangSearch {
 public:
  // `allowed`: indices of the nodes that may be used.
  GangSearch(const std::vector<Node>& nodes, const Gang& gang, std::vector<std::size_t> allowed,
             const Distances& distances, const Thresholds& thresholds);

  bool run();
  [[nodiscard]] bool gave_up() const { return steps_ > kMostSteps; }
  [[nodiscard]] const std::vector<std::optional<Spot>>& spots() const { return spots_; }
  [[nodiscard]] const std::vector<Score>& scores() const { return scores_; }

 private:
  [[nodiscard]] bool can_hold_enough() const;
  bool from(std::size_t at);
  bool try_node(std::size_t at, std::size_t node, const Score& score);
  [[nodiscard]] std::vector<std::pair<Score, std::size_t>> candidates(const Ask& ask) const;
  void take(const Ask& ask, const Spot& spot);
  void release(const Ask& ask, const Spot& spot);
  [[nodiscard]] std::string leaf() const;
  // Notes the kind of a node as it is now: one number for all nodes that the rest of the search
  // cannot tell apart.
  void note(std::size_t node);
  [[nodiscard]] std::string likeness(const Node& node) const;
  [[nodiscard]] std::vector<std::uint32_t> state(std::size_t at) const;

  std::vector<Node> nodes_;
  const Gang& gang_;
  const std::vector<std::size_t> allowed_;
  const Distances& distances_;
  const Thresholds& thresholds_;
  bool named_ = false;  // a pod names a node or device: no two of these are alike
  std::vector<std::optional<Spot>> spots_;
  std::vector<Score> scores_;
  std::size_t placed_ = 0;
  std::size_t steps_ = 0;
  std::map<std::string, std::uint32_t> kinds_;  // number of each likeness
  std::vector<std::uint32_t> kind_of_;          // by node
  std::set<std::vector<std::uint32_t>> dead_;   // states that lead nowhere
};

}  // namespace tributary::manager
