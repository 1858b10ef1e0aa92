#include "config/memory_plan.h"

namespace tributary::config {

std::uint64_t completion_share(const SwitchConfig& config, const JobConfig& job) {
  if (!completes_here(job)) return 0;
  const std::uint64_t budget = std::uint64_t{config.completion.megabytes} << 20;
  const std::uint64_t least = least_completion_bytes(config);
  std::uint64_t wanted = 0;
  for (const auto& j : config.jobs)
    if (completes_here(j)) wanted += most_completion_bytes(j) - least_completion_bytes(j);
  if (budget <= least) return least_completion_bytes(job);
  const std::uint64_t rest = budget - least;
  if (wanted <= rest) return most_completion_bytes(job);
  const std::uint64_t extra = most_completion_bytes(job) - least_completion_bytes(job);
  // In long double: the products of two byte counts may pass 64 bits.
  const auto part =
      static_cast<std::uint64_t>(static_cast<long double>(rest) * static_cast<long double>(extra) /
                                 static_cast<long double>(wanted));
  return least_completion_bytes(job) + part;
}

}  // namespace tributary::config
