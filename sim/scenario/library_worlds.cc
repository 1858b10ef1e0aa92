#include "sim/scenario/library_worlds.h"

#include <algorithm>

#include "sim/scenario/draw.h"
#include "sim/scenario/swarm.h"

namespace tributary::sim {
namespace {

// Longer than all faults together.
constexpr Duration kPatience = Duration::seconds(200);

void keep_ops(JobScenario& job) {
  job.disagree = job.overflow_storm = false;
  job.servers = job.model ? 1 : 0;
  job.host_switches = 0;
  job.degraded_after.reset();
  job.resizes.clear();
  job.notify = wire::Notify::root;
  job.sums.on_deadline = config::OnDeadline::escalate;
  job.op_timeout = job.join_timeout = kPatience;
}

bool kills(const ScriptEntry& e) {
  return e.action == ScriptAction::crash && e.target == ScriptTarget::aggregator;
}

void keep_ranks(Draw draw, Scenario& s) {
  std::erase_if(s.script, [](const ScriptEntry& e) {
    return e.action == ScriptAction::exclude || e.action == ScriptAction::elect;
  });
  for (ScriptEntry& e : s.script) {
    if (e.target == ScriptTarget::server && s.servers.count == 0)
      e.target = ScriptTarget::aggregator;
    if (e.action == ScriptAction::crash) e.target = ScriptTarget::aggregator;
    if (e.length == Duration()) e.length = draw.between(Duration::ms(1), Duration::ms(400));
  }
  // Most ops are early.
  while (std::count_if(s.script.begin(), s.script.end(), kills) < 2)
    s.script.push_back({ScriptAction::crash, ScriptTarget::aggregator, draw.between(0, 9),
                        draw.between(Duration::us(200), Duration::ms(60)),
                        draw.between(Duration::us(100), Duration::ms(400))});
  std::stable_sort(s.script.begin(), s.script.end(),
                   [](const ScriptEntry& a, const ScriptEntry& b) { return a.at < b.at; });
  for (const ScriptEntry& e : s.script) s.heal_at = std::max(s.heal_at, e.at + e.length);
}

}  // namespace

Scenario draw_library_world(std::uint64_t seed) {
  Scenario s = draw_scenario(seed);
  s.name = "library-" + s.name;
  for (JobScenario& job : s.jobs) keep_ops(job);
  const bool models =
      std::any_of(s.jobs.begin(), s.jobs.end(), [](const JobScenario& job) { return job.model; });
  if (models)
    s.servers.count = 1;
  else
    s.servers = {};
  // A rank that moves would begin anew.
  std::erase_if(s.changes, [](const TreeChange& change) { return !change.moved_switch; });
  s.hostile = {};
  s.links.stray_ppm = 0;
  keep_ranks(Draw(seed ^ 0x11B0'0000'0000), s);
  s.limit = s.heal_at + kPatience + kPatience;
  return s;
}

}  // namespace tributary::sim
