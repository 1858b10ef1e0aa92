// Ranks that are faulty now and then: each repeats, broken, something that it sent lately, as often
// as the scenario says.
#pragma once

#include <deque>
#include <map>

#include "core/prng.h"
#include "sim/check/fault_counter.h"
#include "sim/rules/checked_run.h"

namespace tributary::sim {

class FaultyMembers {
 public:
  FaultyMembers(CheckedRun& run, FaultCounter& faults)
      : run_(run), faults_(faults), random_(run.scenario().seed ^ 0xBAD) {}

  // A rank sends this contribution; a broken copy may follow it.
  void contribution_sent(WorkerNode& node, const FrameRef& frame);

 private:
  CheckedRun& run_;
  FaultCounter& faults_;
  std::map<NodeId, std::deque<FrameRef>> contributions_;  // the latest of each worker
  Prng random_;
};

}  // namespace tributary::sim
