#include "control/collisions/slot_governor.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace tributary::control {

std::string SlotGovernor::carry_out(const CollisionJudge::Row& row) {
  const CollisionRemedy& remedy = *row.remedy;
  const std::string about = "job " + row.last.name + ": " + remedy.key + " " + remedy.value;
  try {
    set_(remedy);
  } catch (const std::exception& error) {
    wait_ = kPause;
    refused_ = row.last.job;
    return about + " would end its collisions, and is refused: " + error.what();
  }
  wait_ = kSettle;
  refused_.reset();
  made_[row.last.job] = remedy;
  return about + ", because its chunks collide: " + row.reason;
}

// A job with a row is dynamic, so it has no partition any more.
void SlotGovernor::note(const std::vector<CollisionJudge::Row>& rows) {
  for (const CollisionJudge::Row& row : rows) {
    const auto made = made_.find(row.last.job);
    if (made != made_.end() && made->second.value == kPartition) made_.erase(made);
  }
}

std::vector<std::string> SlotGovernor::act(const std::vector<CollisionJudge::Row>& rows) {
  if (wait_ > 0) {
    --wait_;
    return {};
  }
  // Rows are in the order of jobs: the one refused last comes after all others.
  const auto next = [&](bool any) {
    return std::ranges::find_if(rows, [&](const CollisionJudge::Row& row) {
      return row.remedy && (any || !refused_ || row.last.job > *refused_);
    });
  };
  auto row = next(false);
  if (row == rows.end()) row = next(true);
  if (row == rows.end()) return {};
  return {carry_out(*row)};
}

}  // namespace tributary::control
