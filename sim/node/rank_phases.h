// Phases of a job that is resized (rule 24), as one of its ranks sees them: how many ranks the job
// has, and which ops belong to the phase. A job that is never resized has one phase.
//
// A rank runs the phases that have it, leaves when one does not, and comes again in a later one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/scenario/scenario.h"

namespace tributary::sim {

class RankPhases {
 public:
  RankPhases(const JobScenario& job, std::uint32_t rank) : scenario_(job), rank_(rank), job_(job) {}

  // The first phase, after those that the rank has left behind, in which the job has this rank.
  [[nodiscard]] std::optional<std::size_t> first() const;
  // `phase`: by the resize that it begins with.
  void enter(std::size_t phase);
  // The next phase, for which the other ranks go on. Returns false if it does not have this rank,
  // which leaves.
  bool go_on();

  // The job with the ranks that it has in this phase.
  [[nodiscard]] const JobScenario& job() const { return job_; }
  [[nodiscard]] std::uint32_t first_op() const;
  // The first op that is not in the phase.
  [[nodiscard]] std::uint32_t end() const { return end_; }
  // No phase follows.
  [[nodiscard]] bool is_last() const { return end_ == scenario_.ops; }

 private:
  const JobScenario& scenario_;
  std::uint32_t rank_;
  JobScenario job_;
  std::size_t phase_ = 0;
  std::uint32_t end_ = 0;
  std::size_t done_ = 0;  // before it left
};

inline std::optional<std::size_t> RankPhases::first() const {
  const auto& resizes = scenario_.resizes;
  if (resizes.empty()) return 0;
  for (std::size_t i = done_; i < resizes.size() && resizes[i].op < scenario_.ops; ++i)
    if (rank_ < resizes[i].workers) return i;
  return std::nullopt;
}

inline void RankPhases::enter(std::size_t phase) {
  const auto& resizes = scenario_.resizes;
  phase_ = phase;
  end_ = scenario_.ops;
  if (resizes.empty()) return;
  job_.workers = resizes[phase_].workers;
  if (phase_ + 1 < resizes.size()) end_ = std::min(end_, resizes[phase_ + 1].op);
}

inline bool RankPhases::go_on() {
  enter(phase_ + 1);
  if (rank_ < job_.workers) return true;
  done_ = phase_;
  return false;
}

inline std::uint32_t RankPhases::first_op() const {
  return scenario_.resizes.empty() ? 0 : scenario_.resizes[phase_].op;
}

}  // namespace tributary::sim
