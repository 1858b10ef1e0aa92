// Failures that ranks report: each names its job and a cause that can exist there, a sum overflows
// only where it can, and no epoch fails that began when the network was perfect again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/rules/checked_run.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {

class FailureChecker {
 public:
  FailureChecker(CheckedRun& run, const NetworkPlan& network);

  void op_failed(const WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                 const worker::Failure& failure);
  void session_failed(const WorkerNode& node, const worker::Failure& failure);
  // A queue has no room for a frame, or a host for a chunk.
  void overfull() { last_overfull_ = run_.world().now(); }

  [[nodiscard]] std::uint64_t sessions_failed() const { return sessions_failed_; }

 private:
  void check_cause(const WorkerNode& node, const worker::Failure& failure);
  void check_tree(const WorkerNode& node, const worker::Failure& failure);

  CheckedRun& run_;
  Instant settled_at_;              // an epoch that begins later may not fail
  std::vector<bool> tree_changes_;  // by job index: some version has another tree of this job
  std::optional<Instant> last_overfull_;
  std::uint64_t sessions_failed_ = 0;
};

}  // namespace tributary::sim
