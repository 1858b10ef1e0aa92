// Judges what switches and ranks hold, and for how long: no slot past its deadline, no silent
// member past its lease, gauges true and within limits, no op, join or leave past its bound, and
// nothing left when all nodes are gone.
#pragma once

#include "sim/rules/checked_run.h"

namespace tributary::sim {

class ResourceChecker {
 public:
  explicit ResourceChecker(CheckedRun& run) : run_(run) {}

  // A switch's turn ends; `now` is by its clock.
  void turn_ended(const SwitchNode& node, Instant now);
  void check_bounds();
  void check_empty();

 private:
  void check_slots(const SwitchNode& node, Instant now);
  void check_members(const SwitchNode& node, Instant now);
  void check_empty(const SwitchNode& node);
  void check_no_request_waits(const SwitchNode& node);
  void check_empty(const std::string& name, const completion::Server& server);

  CheckedRun& run_;
  Instant next_check_;  // of all ranks, where there are many
};

}  // namespace tributary::sim
