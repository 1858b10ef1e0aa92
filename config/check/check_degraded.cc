#include "config/check/check_degraded.h"

#include "config/text/codec.h"

namespace tributary::config {

void check_degraded(const JobConfig& job, const std::string& path, bool lease_known,
                    ReadContext& context) {
  const std::string at = path + ".stragglers.degraded_after";
  if (!degrades(job) || !context.usable(at)) return;
  const auto usable = [&](const char* key) { return context.usable(path + '.' + key); };
  const Duration after = *job.stragglers.degraded_after;
  if (usable("workers") && job.workers == 1)
    context.report(at,
                   "no other rank can be late in a job of one worker; allowed: workers: 2 or more");
  // Which ranks are in time differs from run to run, and so does every bit of the sum.
  if (usable("order") && job.order == wire::Order::reproducible)
    context.report(at,
                   "a sum that may lack ranks is not the same in every run; allowed: order: fast");
  if (usable("on_deadline") && job.on_deadline == OnDeadline::abort)
    context.report(at,
                   "with on_deadline: abort the epoch ends before a chunk waits so long; allowed: "
                   "on_deadline: escalate");
  // Sums of other switches, which may be as late as that, must be counted; and so must data that
  // was lost once.
  if (usable("deadline") && after < job.deadline)
    context.report(at, format_duration(after) + " is less than the deadline, " +
                           format_duration(job.deadline) +
                           ", by which switches send what they have; allowed: at least " +
                           format_duration(job.deadline));
  if (lease_known && usable("lease") && after > job.lease)
    context.report(at, format_duration(after) + " is more than the lease, " +
                           format_duration(job.lease) +
                           ", after which a silent rank ends the epoch; allowed: at most " +
                           format_duration(job.lease));
}

}  // namespace tributary::config
