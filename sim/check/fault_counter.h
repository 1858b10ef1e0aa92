// Counts which faults struck chunks in which state.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/rules/checked_run.h"

namespace tributary::sim {

class FaultCounter {
 public:
  explicit FaultCounter(CheckedRun& run);

  // A fault struck the chunk that this frame is about.
  void count_frame_fault(FaultKind kind, const FrameRef& frame);
  // A fault struck a node: counts once per state that any chunk is in.
  void count_node_fault(FaultKind kind);
  // A hostile host sends this frame.
  void count_hostile(FaultKind kind, const FrameRef& frame);

  void epoch_started(std::uint32_t job_index);
  // A switch has opened, or completed, a chunk.
  void chunk_begun(std::uint32_t job_index, std::uint8_t shard, std::uint32_t seq);

 private:
  // The switch that a frame is for, or from.
  [[nodiscard]] const SwitchNode& concerned(const FrameRef& frame) const;

  CheckedRun& run_;
  std::vector<std::vector<std::uint32_t>> last_seq_;  // highest begun, by job index and shard
};

}  // namespace tributary::sim
