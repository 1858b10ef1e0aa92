// Ops that are done on a rank: the sum is exactly that of the epoch's members, or of those counted;
// all ranks get the same bits and the same list of missing ranks; a model takes each update once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/rules/checked_run.h"
#include "sim/rules/degraded_checker.h"
#include "sim/rules/epoch_checker.h"
#include "sim/rules/model_checker.h"
#include "sim/rules/slot_checker.h"

namespace tributary::sim {

class OpChecker {
 public:
  OpChecker(CheckedRun& run, EpochChecker& epochs, const DegradedChecker& degraded,
            const SlotChecker& slots)
      : run_(run),
        epochs_(epochs),
        degraded_(degraded),
        slots_(slots),
        models_(run.scenario().jobs.size()) {}

  void called(const WorkerNode& node, std::uint32_t index, const OpPlan& plan);
  void done(const WorkerNode& node, std::uint32_t index, const OpPlan& plan,
            const OpResult& result);
  void server_crashed();

 private:
  using Missing = DegradedChecker::MissingByChunk;

  // The first mistake in what the rank has; nullopt: none.
  [[nodiscard]] std::optional<std::string> mistake(const WorkerNode& node, std::uint32_t index,
                                                   const OpPlan& plan, const OpResult& result);
  [[nodiscard]] std::optional<std::string> wrong_values(const WorkerNode& node, std::uint32_t index,
                                                        const OpPlan& plan, const OpResult& result,
                                                        const Missing& missing);

  CheckedRun& run_;
  EpochChecker& epochs_;
  const DegradedChecker& degraded_;
  const SlotChecker& slots_;
  std::vector<ModelChecker> models_;  // by job index
  // With those that the op lacks: ranks that disagree may not lack the same.
  std::map<std::pair<OpKey, std::vector<std::uint64_t>>, std::uint64_t> hashes_;
};

}  // namespace tributary::sim
