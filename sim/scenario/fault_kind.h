// Everything bad that the simulated world does to the system under test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::sim {

// X(enumerator, name in tables and scenario files)
#define TRIBUTARY_SIM_FAULTS(X)     \
  X(loss, "loss")                   \
  X(duplicate, "duplicate")         \
  X(reorder, "reorder")             \
  X(corrupt, "corrupt")             \
  X(mark, "mark")                   \
  X(queue_full, "queue-full")       \
  X(partition, "partition")         \
  X(link_down, "link-down")         \
  X(worker_crash, "worker-crash")   \
  X(switch_crash, "switch-crash")   \
  X(tree_change, "tree-change")     \
  X(worker_move, "worker-move")     \
  X(switch_move, "switch-move")     \
  X(worker_pause, "worker-pause")   \
  X(switch_pause, "switch-pause")   \
  X(server_crash, "server-crash")   \
  X(server_pause, "server-pause")   \
  X(backlog_full, "backlog-full")   \
  X(forged_child, "forged-child")   \
  X(hostile_epoch, "stale-epoch")   \
  X(replay, "replay")               \
  X(garbage, "garbage")             \
  X(impersonation, "impersonation") \
  X(faulty_member, "faulty-member")

enum class FaultKind : std::uint8_t {
#define X(id, label) id,
  TRIBUTARY_SIM_FAULTS(X)
#undef X
      count_
};
inline constexpr std::size_t kFaultKindCount = static_cast<std::size_t>(FaultKind::count_);

constexpr const char* name_of(FaultKind kind) {
  constexpr std::array<const char*, kFaultKindCount> names = {
#define X(id, label) label,
      TRIBUTARY_SIM_FAULTS(X)
#undef X
  };
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace tributary::sim
