#include "control/collisions/collision_judge.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::control {
namespace {

std::uint64_t grown(std::uint64_t before, std::uint64_t now) {
  return now >= before ? now - before : now;  // counters begin anew with a new job
}

}  // namespace

const char* name_of(CollisionVerdict verdict) {
  static constexpr std::array kNames = {"none", "watch", "reseed", "divide", "enlarge"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string CollisionJudge::reason_of(const Row& row, const Demand& demand) {
  const std::string pool =
      std::to_string(demand.wanted) + " of " + std::to_string(demand.slots) + " slots wanted";
  const std::string set =
      row.remedy ? ": `tributary set " + row.remedy->key + " " + row.remedy->value + "` gives it "
                 : "";
  switch (row.verdict) {
    case CollisionVerdict::none: return "";
    case CollisionVerdict::watch: return "for less than " + std::to_string(kLooks) + " s";
    case CollisionVerdict::reseed: return pool + ": the packet loop draws another place for it";
    case CollisionVerdict::divide:
      if (!row.remedy) return pool + ": a partition needs a job without quota and priority";
      return pool + set + "a partition of " + std::to_string(row.last.window) + " slots";
    case CollisionVerdict::enlarge: {
      const std::uint64_t lacking = demand.wanted > demand.slots ? demand.wanted - demand.slots : 0;
      const std::string raise = "raise switch.slots by " + std::to_string(lacking);
      if (!row.remedy)
        return pool + ": " + raise +
               " at the next start, or lower the windows; until then the completion engine sums "
               "the "
               "rest";
      return pool + set + "its share of the pool; or " + raise + " at the next start";
    }
  }
  return "";
}

std::optional<CollisionRemedy> CollisionJudge::remedy_of(const Row& row, const Demand& demand) {
  if (row.verdict == CollisionVerdict::divide) return partition_remedy(row.last);
  if (row.verdict == CollisionVerdict::enlarge)
    return window_remedy(row.last, demand.slots, demand.jobs);
  return std::nullopt;
}

// Returns true if too many of the chunks since the look before were escalated.
bool CollisionJudge::measure(State& state, const CollisionCounters& now) {
  const CollisionCounters before = std::exchange(state.row.last, now);
  const std::uint64_t escalated =
      grown(before.collisions, now.collisions) + grown(before.no_slot, now.no_slot);
  const std::uint64_t all = grown(before.chunks, now.chunks) + escalated;
  state.active = all > 0;
  state.row.percent =
      all == 0 ? 0 : 100.0 * static_cast<double>(escalated) / static_cast<double>(all);
  return escalated >= kLeastChunks && state.row.percent >= kMostPercent;
}

// Returns true if the verdict is another one, about which the operator is told.
bool CollisionJudge::decide(State& state, const Demand& demand) {
  CollisionVerdict next = state.row.verdict;
  const bool asked = next > CollisionVerdict::watch;
  if (state.bad >= kLooks)  // at least the verdict before: who is active varies
    next = std::max(next, demand.wanted > demand.slots       ? CollisionVerdict::enlarge
                          : demand.wanted > demand.slots / 2 ? CollisionVerdict::divide
                                                             : CollisionVerdict::reseed);
  else if (state.bad > 0 && !asked)
    next = CollisionVerdict::watch;
  else if (state.bad == 0 && (!asked || state.calm >= kCalmLooks))
    next = CollisionVerdict::none;
  const CollisionVerdict before = std::exchange(state.row.verdict, next);
  state.row.remedy = remedy_of(state.row, demand);
  state.row.reason = reason_of(state.row, demand);
  return next != before && (next > CollisionVerdict::watch || before > CollisionVerdict::watch);
}

std::vector<std::string> CollisionJudge::look(std::uint32_t slots,
                                              const std::vector<CollisionCounters>& jobs) {
  std::map<Key, State> states;
  Demand demand{.slots = slots, .wanted = 0, .jobs = 0};
  for (const CollisionCounters& job : jobs) {
    const Key key(job.job, job.plane);
    State& state = states[key];
    state.row.last = job;  // the past of a new job is not judged
    if (const auto known = jobs_.find(key); known != jobs_.end()) state = std::move(known->second);
    const bool bad = measure(state, job);
    state.bad = bad ? state.bad + 1 : 0;
    state.calm = bad ? 0 : state.calm + 1;
    if (!state.active) continue;
    demand.wanted += job.most_slots;
    ++demand.jobs;
  }
  jobs_ = std::move(states);
  std::vector<std::string> lines;
  for (auto& [key, state] : jobs_) {
    if (!decide(state, demand)) continue;
    const Row& row = state.row;
    lines.push_back("job " + row.last.name +
                    (row.verdict == CollisionVerdict::none
                         ? std::string(": its chunks find slots again")
                         : ": " + std::to_string(static_cast<int>(row.percent + 0.5)) +
                               " % of its chunks find no slot; " + row.reason));
  }
  return lines;
}

std::vector<CollisionJudge::Row> CollisionJudge::rows() const {
  std::vector<Row> all;
  for (const auto& [key, state] : jobs_) all.push_back(state.row);
  return all;
}

}  // namespace tributary::control
