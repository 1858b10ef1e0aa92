// How often each thing that can happen did happen: verdicts, drop reasons, and faults by the state
// of the chunk they struck. What was never reached was never tested.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "aggregator/chunk_state.h"
#include "aggregator/engine.h"
#include "core/drop_reason.h"
#include "tests/sim/fault_kind.h"

namespace tributary::sim {

inline constexpr std::size_t kVerdictCount = 10;
inline constexpr std::size_t kChunkStateCount = 6;

struct Reach {
  std::array<std::uint64_t, kVerdictCount> verdicts{};
  std::array<std::uint64_t, kDropReasonCount> switch_drops{};
  std::array<std::uint64_t, kDropReasonCount> worker_drops{};
  std::array<std::array<std::uint64_t, kChunkStateCount>, kFaultKindCount> faults{};

  void add(const Reach& other);
  void verdict(aggregator::Verdict v) { ++verdicts[static_cast<std::size_t>(v)]; }
  void fault(FaultKind kind, aggregator::ChunkState state) {
    ++faults[static_cast<std::size_t>(kind)][static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::uint64_t fault_total() const;
  [[nodiscard]] std::uint64_t fault_total(FaultKind kind) const;

  // Every item with its count, or why it cannot occur.
  [[nodiscard]] std::string table() const;
  // What can occur but did so fewer than `least` times, one a line; empty: nothing.
  [[nodiscard]] std::string shortfall(std::uint64_t least) const;
};

// Why this version cannot reach it; nullptr when it can.
const char* unreachable(DropReason reason);
const char* unreachable(FaultKind kind, aggregator::ChunkState state);

}  // namespace tributary::sim
