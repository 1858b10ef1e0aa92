#include "completion/pieces/limits.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "config/plan/memory_plan.h"

namespace tributary::completion {

JobLimits limits_of(const config::JobConfig& job) {
  JobLimits limits;
  limits.id = job.id;
  limits.plane = job.plane;
  limits.workers = job.workers;
  limits.window = job.window;
  limits.piece_bytes = job.chunk_bytes;
  limits.shards = job.shards;
  limits.partials = job.partials;
  limits.order = job.order;
  limits.bracketing = job.bracketing;
  limits.arithmetic = job.arithmetic;
  limits.notify = job.notify;
  limits.float_retry = config::retries_floats(job);
  limits.trigger = job.completion_trigger;
  // A rank that misses a deadline may be as late as callers are willing to wait.
  if (job.on_deadline == config::OnDeadline::abort) limits.deadline = job.deadline;
  limits.degraded_after = job.stragglers.degraded_after.value_or(Duration::max());
  return limits;
}

std::vector<JobLimits> limits_of(const config::SwitchConfig& config) {
  std::vector<JobLimits> all;
  for (const config::JobConfig& job : config.jobs) {
    if (!config::completes_here(job)) continue;
    all.push_back(limits_of(job));
    all.back().bytes = config::completion_share(config, job);
  }
  return all;
}

std::vector<JobLimits> limits_of(const config::SwitchConfig& next,
                                 const std::vector<JobLimits>& running) {
  std::uint64_t left = config::completion_budget(next);
  std::uint64_t needed = 0;
  std::vector<JobLimits> all = limits_of(next);
  std::vector<JobLimits*> anew;
  for (JobLimits& job : all) {
    const auto same = [&job](JobLimits other) {
      other.bytes = job.bytes;
      return other == job;
    };
    const auto before = std::find_if(running.begin(), running.end(), same);
    if (before == running.end()) {
      anew.push_back(&job);
      needed += least_bytes(job);
    } else {
      job.bytes = before->bytes;
      left -= std::min(left, job.bytes);
    }
  }
  if (needed > left)
    throw std::invalid_argument("of switch.completion.megabytes " + std::to_string(left) + " of " +
                                std::to_string(config::completion_budget(next)) +
                                " bytes are left; the jobs that come need " +
                                std::to_string(needed));
  const auto demand = [](const JobLimits* job) {
    return config::Demand{least_bytes(*job), most_bytes(*job)};
  };
  std::vector<config::Demand> demands;
  for (const JobLimits* const job : anew) demands.push_back(demand(job));
  for (JobLimits* const job : anew) job->bytes = config::share_of(left, demands, demand(job));
  return all;
}

}  // namespace tributary::completion
