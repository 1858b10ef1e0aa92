#include "config/check/check_resize.h"

#include <algorithm>

#include "config/text/codec.h"

namespace tributary::config {
namespace {

bool admits_votes(const JobConfig& job) {
  constexpr Reduction kVote{wire::DType::int64, wire::ReduceOp::max};
  return job.reductions.empty() ||
         std::find(job.reductions.begin(), job.reductions.end(), kVote) != job.reductions.end();
}

}  // namespace

// Refuses what keeps tables by rank, knows the number of ranks from another file, or forbids the op
// by which they vote.
void check_resize(const JobConfig& job, const std::string& path, ReadContext& context) {
  const std::string at = path + ".min_workers";
  if (!resizes(job) || !context.usable(at)) return;
  const auto usable = [&](const char* key) { return context.usable(path + '.' + key); };
  if (usable("workers") && job.min_workers > job.workers)
    context.report(at, std::to_string(job.min_workers) + " is more than workers, " +
                           std::to_string(job.workers) + "; allowed: at most that");
  if (usable("order") && job.order == wire::Order::reproducible)
    context.report(at, "a declared order names each rank; allowed: order: fast");
  if (usable("trigger") && job.trigger == Trigger::collect)
    context.report(at, "with trigger: collect each rank has a place; allowed: trigger: streaming");
  if (usable("reductions") && !admits_votes(job))
    context.report(at,
                   "ranks vote on their number by int64 max; allowed: no reductions, or int64 max "
                   "among them");
  const bool elsewhere = std::any_of(job.completion_hosts.begin(), job.completion_hosts.end(),
                                     [](const std::string& name) { return name != kRootHost; });
  if (usable("completion_hosts") && elsewhere)
    context.report(at,
                   "a completion host elsewhere has the number of ranks from its own file; "
                   "allowed: no completion_hosts, or root");
  if (usable("stragglers") && (degrades(job) || job.stragglers.exclude != ExcludeBy::none))
    context.report(at,
                   "late ranks are told apart by their number; allowed: stragglers without exclude "
                   "and degraded_after");
}

}  // namespace tributary::config
