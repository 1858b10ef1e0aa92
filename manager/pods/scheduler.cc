#include "manager/pods/scheduler.h"

#include <algorithm>
#include <numeric>

#include "manager/pods/gang_search.h"

namespace tributary::manager {
namespace {

using Indices = std::vector<std::size_t>;

// Nodes that share a leaf switch, or single ones; those with the least load first.
std::vector<Indices> domains(const std::vector<Node>& nodes, Together together) {
  std::map<std::string, Indices> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (together == Together::leaf && nodes[i].leaf.empty()) continue;
    found[together == Together::leaf ? nodes[i].leaf : nodes[i].name].push_back(i);
  }
  std::vector<Indices> ordered;
  for (auto& [name, indices] : found) ordered.push_back(std::move(indices));
  return ordered;
}

// Total score of a placement: what decides between two domains that both have room.
int points(const GangSearch& search) {
  int sum = 0;
  for (std::size_t i = 0; i < search.spots().size(); ++i)
    if (search.spots()[i]) sum += search.scores()[i].points();
  return sum;
}

class Scheduling {
 public:
  Scheduling(const std::vector<Node>& nodes, const Gang& gang, const Distances& distances,
             const Thresholds& thresholds)
      : nodes_(nodes), gang_(gang), distances_(distances), thresholds_(thresholds) {}

  Placement run() {
    placement_.spots.resize(gang_.asks.size());
    placement_.reasons.resize(gang_.asks.size());
    Together narrow = gang_.together;
    if (narrow == Together::anywhere && gang_.asks.size() > 1) narrow = Together::leaf;
    if (narrow != Together::anywhere)
      for (const Indices& domain : domains(nodes_, narrow)) try_in(domain);
    // Also where one leaf switch has room for enough of them, and not for all.
    const bool all_placed = best_.first == -static_cast<int>(gang_.asks.size());
    if (!all_placed && gang_.together == Together::anywhere) {
      Indices all(nodes_.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      try_in(all);
    }
    explain();
    return std::move(placement_);
  }

 private:
  void try_in(const Indices& allowed) {
    GangSearch search(nodes_, gang_, allowed, distances_, thresholds_);
    const bool found = search.run();
    gave_up_ = gave_up_ || search.gave_up();
    if (!found) return;
    const auto count = static_cast<std::size_t>(std::count_if(
        search.spots().begin(), search.spots().end(), [](const auto& s) { return s; }));
    if (placement_.placed && std::pair(-static_cast<int>(count), points(search)) >= best_) return;
    best_ = {-static_cast<int>(count), points(search)};
    placement_.placed = true;
    placement_.spots = search.spots();
    for (std::size_t i = 0; i < gang_.asks.size(); ++i)
      placement_.reasons[i] =
          placement_.spots[i] ? search.scores()[i].text(gang_.asks[i].pack) : "";
  }

  // The reason of each pod that has no place.
  void explain() {
    for (std::size_t i = 0; i < gang_.asks.size(); ++i)
      if (!placement_.spots[i]) placement_.reasons[i] = reason_of(gang_.asks[i]);
  }

  struct Alone {
    bool fits = false;  // on some node
    std::string why_not;
  };
  [[nodiscard]] Alone alone(const Ask& ask) const {
    Alone found;
    Tally tally(ask, thresholds_);
    for (const Node& node : nodes_) {
      const Verdict verdict = judge(node, ask, thresholds_);
      found.fits = found.fits || verdict.cause == Cause::none;
      tally.add(verdict);
    }
    found.why_not = tally.text();
    return found;
  }

  [[nodiscard]] std::string reason_of(const Ask& ask) const {
    const Alone found = alone(ask);
    if (!found.fits || gang_.asks.size() == 1) return found.why_not;
    return group_reason() + "; this pod alone fits";
  }

  [[nodiscard]] std::string group_reason() const {
    std::string text = "the group needs places for " + std::to_string(gang_.least) +
                       " pods at once" +
                       (gang_.together == Together::leaf   ? " at one leaf switch"
                        : gang_.together == Together::host ? " on one node"
                                                           : "");
    if (gave_up_) return text + ", and none was found in " + std::to_string(kMostSteps) + " steps";
    for (const Ask& ask : gang_.asks)
      if (const Alone found = alone(ask); !found.fits)
        return text + ", and " + ask.pod + " fits nowhere: " + found.why_not;
    return text + ", and there is no room for all of them";
  }

  const std::vector<Node>& nodes_;
  const Gang& gang_;
  const Distances& distances_;
  const Thresholds& thresholds_;
  Placement placement_;
  std::pair<int, int> best_;
  bool gave_up_ = false;
};

}  // namespace

Placement schedule(const std::vector<Node>& nodes, const Gang& gang, const Distances& distances,
                   const Thresholds& thresholds) {
  return Scheduling(nodes, gang, distances, thresholds).run();
}

}  // namespace tributary::manager
