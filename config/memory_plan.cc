#include "config/memory_plan.h"

#include <vector>

namespace tributary::config {

std::uint64_t share_of(std::uint64_t budget, std::span<const Demand> all, const Demand& one) {
  std::uint64_t least = 0;
  std::uint64_t wanted = 0;
  for (const Demand& d : all) {
    least += d.least;
    wanted += d.most - d.least;
  }
  if (budget <= least) return one.least;
  const std::uint64_t rest = budget - least;
  if (wanted <= rest) return one.most;
  // In long double: the products of two byte counts may pass 64 bits.
  return one.least + static_cast<std::uint64_t>(static_cast<long double>(rest) *
                                                static_cast<long double>(one.most - one.least) /
                                                static_cast<long double>(wanted));
}

std::uint64_t completion_share(const SwitchConfig& config, const JobConfig& job) {
  if (!completes_here(job)) return 0;
  const auto demand = [](const JobConfig& j) {
    return Demand{least_completion_bytes(j), most_completion_bytes(j)};
  };
  std::vector<Demand> all;
  for (const auto& j : config.jobs)
    if (completes_here(j)) all.push_back(demand(j));
  return share_of(std::uint64_t{config.completion.megabytes} << 20, all, demand(job));
}

}  // namespace tributary::config
