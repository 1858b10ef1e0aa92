#include "control/collisions/collision_watch.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "config/plan/aggregation_memory.h"
#include "control/text/show_text.h"
#include "core/wire/types.h"

namespace tributary::control {
namespace {

constexpr std::chrono::seconds kBetweenLooks(1);

CollisionCounters counters_of(const dataplane::LoopJob& placed) {
  const config::JobConfig& job = placed.config();
  const aggregator::JobCounters counters = placed.engine().counters(placed.index);
  const auto escalated = [&](wire::Reason why) {
    return counters.escalations[static_cast<std::size_t>(why)].get();
  };
  return {job.id,
          job.plane,
          place_name(job),
          counters.completions.get(),
          escalated(wire::Reason::collision),
          escalated(wire::Reason::no_slot),
          job.quota == 0 ? job.window : job.quota,
          job.window,
          job.quota != 0 || job.priority != 0,
          config::spans_switches(job)};
}

using Made = std::map<std::uint32_t, CollisionRemedy>;

nlohmann::ordered_json row_of(const CollisionJudge::Row& row, const Made& made) {
  const auto action = made.find(row.last.job);
  const std::string done =
      action == made.end() ? "" : action->second.key + ' ' + action->second.value;
  return {{"job", row.last.job},
          {"plane", row.last.plane},
          {"chunks", row.last.chunks},
          {"collisions", row.last.collisions},
          {"no_slot", row.last.no_slot},
          {"percent_now", row.percent},
          {"most_slots", row.last.most_slots},
          {"verdict", name_of(row.verdict)},
          {"reason", or_null(!row.reason.empty(), row.reason)},
          {"action", or_null(!done.empty(), done)}};
}

}  // namespace

CollisionWatch::CollisionWatch(dataplane::Switch& sw,
                               std::function<void(const std::string&)> report,
                               SlotGovernor::Set set)
    : switch_(sw),
      report_(std::move(report)),
      governor_(std::move(set)),
      thread_(kBetweenLooks, [this] { look(); }) {}

void CollisionWatch::look() {
  std::vector<CollisionCounters> jobs;
  std::uint32_t slots = 0;
  bool acts = false;
  {
    const auto held = switch_.hold();
    acts = switch_.config().collisions == config::CollisionAction::act;
    slots = config::pool_slots(switch_.config());
    for (const dataplane::LoopJob& placed : switch_.jobs())
      if (placed.config().slots == config::SlotMode::dynamic) jobs.push_back(counters_of(placed));
  }
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(judging_);
    lines = judge_.look(slots, jobs);
  }
  for (const std::string& line : lines) report_(line);
  govern(acts);
}

// Without the lock: a change waits for a drain.
void CollisionWatch::govern(bool acts) {
  std::vector<CollisionJudge::Row> rows;
  {
    const std::lock_guard lock(judging_);
    rows = judge_.rows();
  }
  governor_.note(rows);
  if (acts)
    for (const std::string& line : governor_.act(rows)) report_(line);
  const std::lock_guard lock(judging_);
  made_ = governor_.made();
}

nlohmann::ordered_json CollisionWatch::rows() const {
  const std::lock_guard lock(judging_);
  std::vector<CollisionJudge::Row> shown = judge_.rows();
  for (const auto& [job, remedy] : made_) {  // static ones
    if (std::ranges::any_of(shown, [&](const auto& row) { return row.last.job == job; })) continue;
    shown.emplace_back().last.job = job;
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollisionJudge::Row& row : shown) rows.push_back(row_of(row, made_));
  return rows;
}

}  // namespace tributary::control
