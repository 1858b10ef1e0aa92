// Epochs: their members, the tree that sums their data, and that they follow each other after a
// drain (rule 22).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "config/model/switch_config.h"
#include "sim/rules/checked_run.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {

class EpochChecker {
 public:
  EpochChecker(CheckedRun& run, const NetworkPlan& network);

  // The job's root sends START. Returns false if it did so for this epoch before. `version`: of the
  // tree, as the root has read it.
  bool started(std::uint32_t job_index, std::uint16_t epoch, std::size_t version);
  void entered(const WorkerNode& node);
  // A rank has an op's result, which belongs to one epoch, the same for all ranks.
  void op_done(const WorkerNode& node, std::uint16_t epoch, std::uint32_t index);

  // The members' incarnations, by rank; 0: it has not entered the epoch.
  [[nodiscard]] std::vector<std::uint64_t> salts_of(std::uint32_t job_index, std::uint32_t epoch);
  // Whether all ranks that a result does not lack have entered the epoch.
  [[nodiscard]] bool all_inside_entered(std::uint32_t job_index, std::uint32_t epoch,
                                        const OpResult& result);
  // How the epoch's sums are made; of a job that is resized, by rank, of the ranks that it has.
  [[nodiscard]] const config::Bracket& expression_for(const WorkerNode& node, std::uint32_t epoch);

 private:
  struct Members {
    std::vector<std::optional<std::uint64_t>> salts;  // by rank
    std::size_t version = 0;                          // of the tree, as the job's root had read it
  };
  struct JobEpochs {
    std::vector<config::Bracket> expressions;  // how each version's tree combines ranks' data
    std::uint16_t last = 0;                    // the last START's
    std::map<std::uint32_t, Members> members;  // by epoch
  };

  void check_resumption(const WorkerNode& node);

  CheckedRun& run_;
  std::vector<JobEpochs> jobs_;                       // by job index
  std::map<std::uint32_t, config::Bracket> by_rank_;  // by the number of ranks
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint64_t>>, std::uint16_t>
      op_epochs_;  // by job, index and the members' salts
};

}  // namespace tributary::sim
