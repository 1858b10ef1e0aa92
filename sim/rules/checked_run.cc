#include "sim/rules/checked_run.h"

#include <algorithm>
#include <utility>

#include "sim/network/trace.h"

namespace tributary::sim {

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t salt) {
  Trace t;
  t.add(Instant::from_ns(static_cast<std::int64_t>(salt)), 0, TraceKind::op_done, bytes);
  return t.hash();
}

Duration delay_of_tree(const Scenario& scenario, const JobScenario& job) {
  if (scenario.switches.size() < 2 && scenario.fat_tree.levels < 2) return {};
  constexpr std::int64_t kMostLevels = 8;
  return std::max(job.deadline / 8, Duration::ms(100)) * kMostLevels;
}

void CheckedRun::watch(World& world, std::span<SwitchNode* const> aggregators,
                       std::vector<std::vector<WorkerNode*>> ranks) {
  world_ = &world;
  aggregators_.assign(aggregators.begin(), aggregators.end());
  ranks_ = std::move(ranks);
  for (const auto& job : ranks_) all_ranks_.insert(all_ranks_.end(), job.begin(), job.end());
}

void CheckedRun::violation(const std::string& what) {
  world_->fail(what);
}

std::optional<std::uint32_t> CheckedRun::index_of(std::uint32_t job) const {
  for (std::uint32_t i = 0; i < scenario_.jobs.size(); ++i)
    if (scenario_.jobs[i].id == job) return i;
  return std::nullopt;
}

}  // namespace tributary::sim
