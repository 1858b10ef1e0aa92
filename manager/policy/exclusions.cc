#include "manager/policy/exclusions.h"

#include <algorithm>
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
  explicit Choice(const StragglerPolicy& policy) : policy_(policy) {}

  void choose(const std::vector<const Straggler*>& ranks) {
    for (const Straggler* const rank : ranks) ++left_[rank->at];
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
  std::map<std::string, std::size_t> left_;  // ranks of a switch that take part
  std::vector<const Straggler*> taken_;
};

bool is_the_managers(const Job& job) {
  return job.placed && job.request.policy == PolicyOwner::manager;
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
    if (policy.exclude == config::ExcludeBy::none) continue;
    std::vector<const Straggler*> ranks;
    for (const Straggler& rank : worst)
      if (rank.job == name) ranks.push_back(&rank);
    std::stable_sort(ranks.begin(), ranks.end(), [&policy](const Straggler* a, const Straggler* b) {
      return figure_of(a->lateness, policy) > figure_of(b->lateness, policy);
    });
    Choice choice(policy);
    choice.choose(ranks);
    for (const Straggler* const rank : choice.taken()) all[rank->at][job.id].insert(rank->rank);
  }
  return all;
}

}  // namespace tributary::manager
