// A run as the checkers see it: its scenario and its nodes, and where they report. All checkers of
// a run share one; Checker fills it in before the run begins.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/node/server_node.h"
#include "sim/node/switch_node.h"
#include "sim/node/worker_node.h"
#include "sim/node/world.h"
#include "sim/rules/reach.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

struct ChunkKey {
  std::uint32_t job, epoch, shard, seq;
  auto operator<=>(const ChunkKey&) const = default;
};

struct OpKey {
  std::uint32_t job, epoch, index;
  auto operator<=>(const OpKey&) const = default;
};

// Hash of a result; equal for equal bytes under the same salt.
std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t salt);

// How much longer the root of a tree may wait than a job's deadline: an eighth of it, at least
// 100 ms, for each level below; zero without a tree.
Duration delay_of_tree(const Scenario& scenario, const JobScenario& job);

class CheckedRun {
 public:
  explicit CheckedRun(const Scenario& scenario) : scenario_(scenario) {}
  CheckedRun(const CheckedRun&) = delete;
  CheckedRun& operator=(const CheckedRun&) = delete;

  // `ranks`: by job index and rank.
  void watch(World& world, std::span<SwitchNode* const> aggregators,
             std::vector<std::vector<WorkerNode*>> ranks);
  void watch_servers(const std::vector<ServerNode*>& servers) { servers_ = servers; }

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] World& world() const { return *world_; }
  // The root first.
  [[nodiscard]] std::span<SwitchNode* const> aggregators() const { return aggregators_; }
  [[nodiscard]] bool in_tree() const { return aggregators_.size() > 1; }
  [[nodiscard]] std::span<WorkerNode* const> ranks(std::uint32_t job_index) const {
    return ranks_[job_index];
  }
  [[nodiscard]] std::span<WorkerNode* const> all_ranks() const { return all_ranks_; }
  [[nodiscard]] std::span<ServerNode* const> servers() const { return servers_; }

  // nullopt: no job of the scenario has this id.
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::uint32_t job) const;
  // A job of the scenario, by its id.
  [[nodiscard]] const JobScenario& job(std::uint32_t id) const {
    return scenario_.jobs[*index_of(id)];
  }

  // The system under test broke a rule. The first violation ends the run.
  void violation(const std::string& what);
  [[nodiscard]] Reach& reach() { return reach_; }

 private:
  const Scenario& scenario_;
  World* world_ = nullptr;
  std::vector<SwitchNode*> aggregators_;
  std::vector<std::vector<WorkerNode*>> ranks_;
  std::vector<WorkerNode*> all_ranks_;
  std::vector<ServerNode*> servers_;
  Reach reach_;
};

}  // namespace tributary::sim
