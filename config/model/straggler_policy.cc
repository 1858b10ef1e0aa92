#include "config/model/straggler_policy.h"

namespace tributary::config {

std::optional<PolicyMistake> mistake_in(const StragglerPolicy& p) {
  if (p.ops == 0) return PolicyMistake{"ops", "0 ops say nothing; allowed: at least 1"};
  if (p.recovered_ops == 0)
    return PolicyMistake{"recovered_ops", "0 ops in a row show no recovery; allowed: at least 1"};
  if (p.exclude == ExcludeBy::largest && p.most == 0)
    return PolicyMistake{"most", "no child is among the 0 largest; allowed: at least 1"};
  if (p.recovered_below <= Duration())
    return PolicyMistake{"recovered_below",
                         "no child is ahead of the first; allowed: more than 0s"};
  if (p.exclude == ExcludeBy::threshold && p.recovered_below > p.threshold)
    return PolicyMistake{
        "recovered_below",
        "a child that is well again would be excluded again; allowed: at most `threshold`"};
  return std::nullopt;
}

}  // namespace tributary::config
