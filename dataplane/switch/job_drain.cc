#include "dataplane/switch/job_drain.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "config/text/codec.h"
#include "dataplane/loop/loop_drain.h"

namespace tributary::dataplane {
namespace {

std::vector<config::ChildConfig> workers_at(const config::JobConfig& job) {
  std::vector<config::ChildConfig> workers = job.children;
  std::erase_if(workers, [](const config::ChildConfig& child) { return child.is_switch; });
  return workers;
}

// The ranks stay where they are, and ops that wait were called with these settings.
bool goes_on(const config::JobConfig& before, const config::JobConfig& after) {
  return before.members == after.members && workers_at(before) == workers_at(after) &&
         before.workers == after.workers && before.min_workers == after.min_workers &&
         before.partials == after.partials && before.arithmetic == after.arithmetic &&
         before.integrity == after.integrity;
}

}  // namespace

void drain_before(const config::SwitchConfig& next, const config::Change& change,
                  const config::SwitchConfig& running, PacketLoops& loops, Duration patience,
                  const LinkMonitor::Report& report) {
  std::vector<std::uint32_t> jobs;
  for (const std::uint32_t id : change.changed) {
    const config::JobConfig* const before = config::find_job(running, id);
    const config::JobConfig* const after = config::find_job(next, id);
    if (before != nullptr && after != nullptr && goes_on(*before, *after)) jobs.push_back(id);
  }
  for (const std::uint32_t id :
       drain_jobs(loops, jobs, aggregator::Holder::change, next.drain_time, patience))
    report("job " + std::to_string(id) + ": not all ranks have finished the ops that had begun " +
           "within " + config::format_duration(next.drain_time) + "; its epoch ends without them");
}

void check_jobs(const config::SwitchConfig& running, const std::vector<std::uint32_t>& jobs) {
  for (const std::uint32_t id : jobs)
    if (config::find_job(running, id) == nullptr)
      throw std::invalid_argument("this switch has no job " + std::to_string(id) +
                                  "; `show jobs` lists them");
}

}  // namespace tributary::dataplane
