#include "sim/run/shrink.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "sim/run/simulation.h"
#include "sim/scenario/network_plan.h"
#include "sim/scenario/scenario_file.h"

namespace tributary::sim {
namespace {

using Step = std::function<void(Scenario&)>;

void add_job_steps(const Scenario& s, std::size_t j, std::vector<Step>& steps) {
  if (s.jobs.size() > 1)
    steps.push_back([j](Scenario& t) { t.jobs.erase(t.jobs.begin() + static_cast<long>(j)); });
  const auto change = [&](auto edit) { steps.push_back([=](Scenario& t) { edit(t.jobs[j]); }); };
  const auto with_workers = [](JobScenario& job, std::uint32_t workers) {
    job.workers = workers;
    job.sums.bracketing.reset();
    for (Resize& r : job.resizes) r.workers = std::min(r.workers, workers);
  };
  change([](JobScenario& job) { job.resizes.clear(); });
  change([](JobScenario& job) {
    if (job.resizes.size() > 1) job.resizes.pop_back();
  });
  change([=](JobScenario& job) { with_workers(job, job.workers > 2 ? 2 : 1); });
  change([=](JobScenario& job) { with_workers(job, job.workers - (job.workers > 1 ? 1 : 0)); });
  change([](JobScenario& job) { job.shards = 1; });
  change([](JobScenario& job) { job.shards = static_cast<std::uint8_t>((job.shards + 1) / 2); });
  change([](JobScenario& job) { job.ops = (job.ops + 1) / 2; });
  change([](JobScenario& job) { job.ops -= job.ops > 1 ? 1 : 0; });
  change([](JobScenario& job) { job.window = job.window > 1 ? job.window / 2 : 1; });
  change([](JobScenario& job) { job.max_elements = (job.max_elements + 1) / 2; });
  change([](JobScenario& job) { job.chunk_bytes = 8; });
  change([](JobScenario& job) { job.depth = 1; });
  change([](JobScenario& job) { job.loss_group = 0; });
  change([](JobScenario& job) { job.think_max = Duration(); });
  change([](JobScenario& job) { job.disagree = false; });
  change([](JobScenario& job) { job.degraded_after.reset(); });
  change([](JobScenario& job) { job.notify = wire::Notify::root; });
  change([](JobScenario& job) {
    job.sums = {};
    job.degraded_after.reset();
  });
  change([](JobScenario& job) {
    job.sums.order = wire::Order::fast;
    job.sums.bracketing.reset();
  });
  change([](JobScenario& job) { job.sums.bracketing.reset(); });
  change([](JobScenario& job) { job.sums.trigger = config::Trigger::streaming; });
  change([](JobScenario& job) { job.sums.completion_trigger = config::Trigger::collect; });
  change([](JobScenario& job) { job.sums.partials = wire::Partials::wide; });
  change([](JobScenario& job) { job.sums.arithmetic = wire::Arithmetic::saturating; });
  change([](JobScenario& job) {
    job.sums.slots = config::SlotMode::partition;
    job.sums.quota = job.sums.priority = 0;
  });
  change([](JobScenario& job) { job.sums.quota = job.sums.priority = 0; });
  change([](JobScenario& job) { job.sums.release = config::Release::sent; });
  change([](JobScenario& job) {
    job.sums.verify = false;
    job.sums.release = config::Release::sent;
  });
  change([](JobScenario& job) {
    job.sums.on_deadline = config::OnDeadline::abort;
    job.degraded_after.reset();
  });
  change([](JobScenario& job) { job.integrity = wire::Integrity::udp_checksum; });
}

// Attaches the switch's children to its parent.
void remove_switch(Scenario& s, std::size_t index) {
  const TreeSwitch gone = s.switches[index];
  s.switches.erase(s.switches.begin() + static_cast<long>(index));
  for (TreeSwitch& sw : s.switches) {
    if (sw.parent == gone.name) sw.parent = gone.parent;
    if (sw.name == gone.parent) sw.workers += gone.workers;
  }
}

// In the order in which they are tried: what removes most comes first.
std::vector<Step> steps_for(const Scenario& s) {
  std::vector<Step> steps = {
      [](Scenario& t) { t.script.clear(); },
      [](Scenario& t) { t.changes.clear(); },
      [](Scenario& t) { t.hostile = {}; },
      [](Scenario& t) {
        for (JobScenario& job : t.jobs) job.servers = 0;
      },
      [](Scenario& t) {
        for (JobScenario& job : t.jobs) job.host_switches = 0;
      },
      [](Scenario& t) { t.servers.tight = false; },
      [](Scenario& t) { t.hostile.packets = 0; },
      [](Scenario& t) { t.hostile.faulty_ppm = 0; },
      [](Scenario& t) { t.links.loss_ppm = 0; },
      [](Scenario& t) { t.links.duplicate_ppm = 0; },
      [](Scenario& t) { t.links.reorder_ppm = 0; },
      [](Scenario& t) { t.links.corrupt_ppm = 0; },
      [](Scenario& t) { t.links.mark_ppm = 0; },
      [](Scenario& t) { t.links.mark_bytes = 0; },
      [](Scenario& t) { t.links.stray_ppm = 0; },
      [](Scenario& t) { t.links.bits_per_second = 0; },
      [](Scenario& t) { t.access_switches = 0; },
      [](Scenario& t) {
        t.switches.clear();
        t.changes.clear();
      },
      [](Scenario& t) { t.lose_first_between_switches = false; },
      [](Scenario& t) { t.lose_first_contributions = false; },
      [](Scenario& t) { t.drift_ppm = 0; },
      [](Scenario& t) { t.held_frames = 0; },
      [](Scenario& t) { t.preempt_idle = Duration(); },
      [](Scenario& t) { t.preempt_busy = false; },
      [](Scenario& t) { t.cache_megabytes = 0; },
      [](Scenario& t) { t.first_seq = 0; },
      [](Scenario& t) { t.first_epoch = 1; },
      [](Scenario& t) { t.links.delay_max = t.links.delay_min; },
      [](Scenario& t) { t.turn_max = Duration::us(1); },
      [](Scenario& t) { t.heal_at = t.heal_at / 2; },
      [](Scenario& t) { t.hostile.packets /= 2; },
  };
  for (std::size_t i = 0; i < s.script.size(); ++i)
    steps.push_back([i](Scenario& t) { t.script.erase(t.script.begin() + static_cast<long>(i)); });
  for (std::size_t i = 0; i < s.changes.size(); ++i)
    steps.push_back(
        [i](Scenario& t) { t.changes.erase(t.changes.begin() + static_cast<long>(i)); });
  for (std::size_t j = 0; j < s.jobs.size(); ++j) add_job_steps(s, j, steps);
  for (std::size_t i = 1; i < s.switches.size(); ++i)
    steps.push_back([i](Scenario& t) { remove_switch(t, i); });
  return steps;
}

// A tree carries as many workers as there are.
void fit_workers(Scenario& s) {
  std::uint32_t left = 0;
  for (const JobScenario& job : s.jobs) left += job.workers;
  for (TreeSwitch& sw : s.switches) {
    sw.workers = std::min(sw.workers, left);
    left -= sw.workers;
  }
  if (!s.switches.empty()) s.switches.back().workers += left;
  const std::uint32_t workers = worker_count(s);
  const auto switches = static_cast<std::uint32_t>(s.switches.size());
  for (TreeChange& c : s.changes) {
    c.worker %= workers;
    if (c.moved_switch && switches > 1) c.moved_switch = 1 + (*c.moved_switch - 1) % (switches - 1);
    c.to %= c.moved_switch ? *c.moved_switch : switches;
  }
}

bool same(const Scenario& a, const Scenario& b) {
  return to_yaml(a) == to_yaml(b);
}

// A failure is of use only where a file can say what fails.
bool can_be_read_back(const Scenario& s) {
  try {
    parse_scenario(to_yaml(s), s.name);
    return true;
  } catch (const config::ConfigErrors&) {
    return false;
  }
}

}  // namespace

Shrunk shrink(const Scenario& failing, const ShrinkLimits& limits) {
  const Outcome first = simulate(failing);
  Shrunk best{failing, first.failure.value_or(""), 1, first.events};
  const auto goes_on = [&] { return best.runs < limits.runs && best.events < limits.events; };
  best.scenario.name = failing.name + "-shrunk";
  for (bool smaller = true; smaller;) {
    smaller = false;
    // Each success may remove what later steps refer to, so the list is made anew.
    for (std::size_t i = 0; goes_on(); ++i) {
      const auto steps = steps_for(best.scenario);
      if (i >= steps.size()) break;
      Scenario candidate = best.scenario;
      steps[i](candidate);
      fit_workers(candidate);
      if (same(candidate, best.scenario) || !can_be_read_back(candidate)) continue;
      // Another seed may fail where this one, on other ground, does not.
      for (std::uint64_t seed = 0; seed < 3 && goes_on(); ++seed) {
        candidate.seed = best.scenario.seed + seed;
        ++best.runs;
        const Outcome outcome = simulate(candidate);
        best.events += outcome.events;
        if (!outcome.failure) continue;
        best.scenario = candidate;
        best.failure = *outcome.failure;
        smaller = true;
        break;
      }
    }
  }
  return best;
}

}  // namespace tributary::sim
