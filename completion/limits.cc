#include "completion/limits.h"

#include "config/memory_plan.h"

namespace tributary::completion {

JobLimits limits_of(const config::JobConfig& job) {
  JobLimits limits;
  limits.id = job.id;
  limits.workers = job.workers;
  limits.window = job.window;
  limits.piece_bytes = job.chunk_bytes;
  limits.shards = job.shards;
  limits.partials = job.partials;
  limits.order = job.order;
  limits.bracketing = job.bracketing;
  limits.arithmetic = job.arithmetic;
  limits.float_retry = config::retries_floats(job);
  // Whoever misses a deadline may come as late as callers are ready to wait.
  if (job.on_deadline == config::OnDeadline::abort) limits.deadline = job.deadline;
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

}  // namespace tributary::completion
