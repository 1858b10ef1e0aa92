#include "config/plan/memory_plan.h"

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
    if (completes_here(j)) all.insert(all.end(), planes_in(config, j), demand(j));
  return share_of(completion_budget(config), all, demand(job));
}

std::uint64_t hosted_share(const SwitchConfig& config, const JobConfig& job) {
  const auto demand = [](const JobConfig& j) {
    return Demand{least_served_bytes(j), most_served_bytes(j)};
  };
  std::vector<Demand> all;
  for (const auto& j : config.jobs)
    if (j.hosting) all.push_back(demand(j));
  return share_of(hosted_budget(config), all, demand(job));
}

std::string describe_served(const JobConfig& job, std::uint64_t bytes) {
  const auto kib = [](std::uint64_t b) { return std::to_string((b + 1023) >> 10); };
  return "job " + job.name + ": " + kib(bytes) + " KiB for contributions and results; needs " +
         kib(least_served_bytes(job)) + ", could use " + kib(most_served_bytes(job)) + "\n";
}

std::string describe_hosted(const SwitchConfig& config) {
  std::string text;
  for (const auto& job : config.jobs)
    if (job.hosting) text += "hosted " + describe_served(job, hosted_share(config, job));
  return text;
}

}  // namespace tributary::config
