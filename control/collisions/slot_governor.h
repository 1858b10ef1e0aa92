// Carries out what the judge of collisions finds, where the configuration says `collisions: act`.
//
//   rows of the judge ─▶ act() ─▶ at most one change at a time, and a line about it
//
// A change alters what all jobs of the pool find, so the next one waits until the judge has seen
// what became of it. What is refused (the job is the manager's, memory lacks, another change is
// under way) is said, and tried again later. A reload drops the changes, as it does those of `set`.
// One thread at a time calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/collisions/collision_judge.h"
#include "control/collisions/collision_remedy.h"

namespace tributary::control {

class SlotGovernor {
 public:
  // Looks between two changes.
  static constexpr int kSettle = CollisionJudge::kLooks + 2;
  static constexpr int kPause = 30;  // after a refusal

  // Throws std::exception with the reason if the switch does not take it.
  using Set = std::function<void(const CollisionRemedy& remedy)>;
  explicit SlotGovernor(Set set) : set_(std::move(set)) {}

  // Once for each look of the judge: forgets partitions that a reload has dropped.
  void note(const std::vector<CollisionJudge::Row>& rows);
  // After that, where it may change jobs. Returns lines for the operator.
  std::vector<std::string> act(const std::vector<CollisionJudge::Row>& rows);
  // The last change made for each job, by id, until `unset` takes it back.
  [[nodiscard]] const std::map<std::uint32_t, CollisionRemedy>& made() const { return made_; }

 private:
  std::string carry_out(const CollisionJudge::Row& row);

  Set set_;
  std::map<std::uint32_t, CollisionRemedy> made_;
  int wait_ = 0;                          // looks
  std::optional<std::uint32_t> refused_;  // the job, where the last change was
};

}  // namespace tributary::control
