#include "sim/scenario/resized_worlds.h"

namespace tributary::sim {

// Ranks that come and leave between ops. Where nodes crash, ranks only come: those that have left
// would be missed by others that begin anew.
void draw_resizes(Draw draw, Scenario& s) {
  if (s.switches.size() > 1 || s.fat_tree.levels > 1) return;
  for (JobScenario& job : s.jobs) {
    if (job.model || job.disagree || job.degraded_after || job.servers > 0 || job.workers < 2 ||
        job.ops < 2 || job.sums.order != wire::Order::fast ||
        job.sums.trigger != config::Trigger::streaming || !draw.one_in(3))
      continue;
    const bool grows = !s.script.empty() || s.hostile.packets > 0;
    std::uint32_t workers = draw.between(1, job.workers);
    for (std::uint32_t op = 0; op < job.ops; op += draw.between(1, job.ops)) {
      job.resizes.push_back({op, workers});
      workers = grows ? draw.between(workers, job.workers) : draw.between(1, job.workers);
    }
    job.join_timeout = Duration::seconds(60);  // newcomers wait from the beginning
  }
}

}  // namespace tributary::sim
