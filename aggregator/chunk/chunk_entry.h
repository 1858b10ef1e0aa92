// A shard's state of one chunk: its phase, the children that arrived, its description, and its
// buffer. One cache line without the payload, which it outlives (protocol rule 3).
//
// Owner: the shard's ChunkTable assigns entries to chunks; the Shard attaches buffers.
#pragma once

#include <cstdint>

#include "aggregator/chunk/chunk_state.h"
#include "aggregator/chunk/contribution.h"
#include "config/model/switch_config.h"
#include "core/time.h"

namespace tributary::aggregator {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;
// Sentinel in place of a child: the sender is attached to another switch.
inline constexpr std::uint16_t kElsewhere = 0xFFFF;

struct alignas(64) ChunkEntry {
  static constexpr std::uint16_t kMostCombined = 0x7FF;

  std::uint32_t seq = 0;
  ChunkState state = ChunkState::unseen;
  bool armed : 1 = false;           // linked into its job's ChunkDeadlines
  bool overflow : 1 = false;        // sticky (rule 12)
  bool verified : 1 = false;        // of a result
  bool holds_slot : 1 = false;      // while open, and while sent but not released
  bool narrowed : 1 = false;        // the sum is in the element's type already
  bool retried : 1 = false;         // asked for again, as floating point (rule 12)
  bool described : 1 = false;       // false: an announcement named only op and chunk
  bool bypassed : 1 = false;        // does not wait for children that are excluded (rule 14)
  std::uint16_t first_child = 0;    // whose description is the reference for the others
  std::uint32_t buffer = kNone;     // in the job's BufferPool: sum or result
  std::uint16_t arrived = 0;        // children counted, and children not waited for
  std::uint16_t combined : 11 = 0;  // how much of a declared order is in the sum
  bool data_waits : 1 = false;      // in the shard's FoldQueue
  KeptAs kept : 3 = KeptAs::nothing;
  bool congested : 1 = false;     // data met a queue; in a result, its flag CE (rule 15)
  std::uint64_t arrived_low = 0;  // bit per child, when 64 bits hold them all
  ChunkDescription description;
  std::uint32_t previous = kNone;  // in the ChunkDeadlines
  std::uint32_t next = kNone;
  Instant opened_at;

  // True if both describe the same chunk in the same way.
  [[nodiscard]] bool agrees_with(const ChunkDescription& other) const {
    if (described) return description.agrees_with(other);
    return description.op == other.op && description.chunk == other.chunk;
  }
  void describe(const Contribution& c) {
    described = true;
    first_child = c.child;
    description = c.description;
  }
};
static_assert(sizeof(ChunkEntry) == 64);
static_assert(config::kMaxWorkers <= ChunkEntry::kMostCombined);

}  // namespace tributary::aggregator
