#include "manager/policy/exclusions.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tributary::manager {
namespace {

using config::StragglerPolicy;

double milliseconds(Duration duration) {
  return static_cast<double>(duration.to_ns()) / 1e6;
}

double figure_of(const Lateness& lateness, const StragglerPolicy& policy) {
  return policy.combine == config::Combine::mean ? lateness.mean_ms : lateness.max_ms;
}

// In all of the ops that were looked at: the latest `ops`.
bool has_recovered(const Lateness& lateness, const StragglerPolicy& policy) {
  return lateness.ops >= policy.ops && lateness.max_ms < milliseconds(policy.recovered_below);
}

bool is_late(const Lateness& lateness, const StragglerPolicy& policy) {
  const double least = milliseconds(
      policy.exclude == config::ExcludeBy::threshold ? policy.threshold : policy.recovered_below);
  return lateness.ops >= policy.ops && figure_of(lateness, policy) > least;
}

// One job's, whose ranks are the latest first, by the figure of its policy. Those that are excluded
// already go before others.
class Choice {
 public:
  Choice(const StragglerPolicy& policy, std::map<std::string, std::size_t> children)
      : policy_(policy), left_(std::move(children)) {}

  void choose(const std::vector<const Straggler*>& ranks) {
    for (const Straggler* const rank : ranks)
      if (is_excluded(rank->lateness) && !has_recovered(rank->lateness, policy_)) take(*rank);
    for (const Straggler* const rank : ranks)
      if (!is_excluded(rank->lateness) && is_late(rank->lateness, policy_)) take(*rank);
  }
  [[nodiscard]] const std::vector<const Straggler*>& taken() const { return taken_; }

 private:
  void take(const Straggler& rank) {
    const bool all = policy_.exclude == config::ExcludeBy::threshold;
    if (left_[rank.at] <= 1 || (!all && taken_.size() >= policy_.most)) return;
    --left_[rank.at];
    taken_.push_back(&rank);
  }

  const StragglerPolicy& policy_;
  std::map<std::string, std::size_t> left_;  // children of a switch that take part
  std::vector<const Straggler*> taken_;
};

// The number of children, ranks and switches, that the job has at each switch.
std::map<std::string, std::size_t> children_of(std::uint32_t job, const LatenessBySwitch& reports) {
  std::map<std::string, std::size_t> children;
  for (const auto& [at, rows] : reports) {
    std::set<std::vector<std::uint32_t>> seen;  // a child has a row for each plane
    for (const Lateness& child : rows)
      if (child.job == job) seen.insert(child.ranks);
    children[at] = seen.size();
  }
  return children;
}

bool is_the_managers(const Job& job) {
  return job.placed && job.request.policy == PolicyOwner::manager &&
         job.request.job.config.stragglers.exclude != config::ExcludeBy::none;
}

}  // namespace

bool is_excluded(const Lateness& lateness) {
  return !lateness.excluded.empty() && lateness.excluded.find(" to op ") == std::string::npos;
}

Exclusions exclusions(const Admission& admission, const LatenessBySwitch& reports) {
  Exclusions all;
  const std::vector<Straggler> worst = worst_first(admission, reports);
  for (const auto& [name, job] : admission.jobs()) {
    if (!is_the_managers(job)) continue;
    for (const auto& [at, lateness] : reports) all[at][job.id];
    const StragglerPolicy& policy = job.request.job.config.stragglers;
    std::vector<const Straggler*> ranks;
    for (const Straggler& rank : worst)
      if (rank.job == name) ranks.push_back(&rank);
    std::stable_sort(ranks.begin(), ranks.end(), [&policy](const Straggler* a, const Straggler* b) {
      return figure_of(a->lateness, policy) > figure_of(b->lateness, policy);
    });
    Choice choice(policy, children_of(job.id, reports));
    choice.choose(ranks);
    for (const Straggler* const rank : choice.taken()) all[rank->at][job.id].insert(rank->rank);
  }
  return all;
}

}  // namespace tributary::manager
