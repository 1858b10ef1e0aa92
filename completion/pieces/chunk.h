// One chunk at the completion engine.
//
//   unseen ──first piece or mark──▶ open ──exact cover──▶ complete ──root accepted──▶ released
//                                    └─waited too long──▶ (without some ranks, rule 21)
//     ▲  ▲                           │                                                  │
//     │  └────── given up (memory) ──┘                                                  │
//     └──────────────────────── seq + 2W takes the place ◀──────────────────────────────┘
//
// Invariant: the pieces of an open chunk are pairwise disjoint and `covered` is their union. So no
// rank can be counted twice, and the chunk is complete exactly when `covered_count` reaches the
// required number, or the missing ranks are not waited for any more. From then on `covered` is the
// set of ranks in the result. (Protocol rules 5, 7 and 21.)
#pragma once

#include <cstdint>

#include "aggregator/chunk/contribution.h"
#include "completion/pieces/deadline_queue.h"
#include "completion/pieces/piece_pool.h"
#include "core/wire/types.h"

namespace tributary::completion {

enum class ChunkState : std::uint8_t { unseen, open, complete, released };

struct Chunk : DeadlineNode {
  ChunkState state = ChunkState::unseen;
  std::uint8_t shard = 0;
  wire::Reason reason = wire::Reason::none;  // why it came here: from the first piece or mark
  std::uint8_t attempt = 0;                  // 1: sent again as floating point (rule 12)
  bool described = false;                    // a mark may come before any description
  bool given_up = false;                     // by the root: more came than an excluded rank's data
  std::uint32_t seq = 0;
  std::uint32_t flags = 0;       // sticky: CE
  std::uint32_t slot = 0;        // as the first sender computed it
  std::uint32_t first_rank = 0;  // whose description is the reference for the others
  aggregator::ChunkDescription description;
  Piece* pieces = nullptr;  // open: all its pieces; complete: the one with the result
  RankSet covered;
  std::uint32_t covered_count = 0;
  std::uint32_t piece_count = 0;
  bool overflow = false;  // of the result, when complete
  Chunk* previous_open = nullptr;
  Chunk* next_open = nullptr;
};

// The number of ranks in the chunk's result: one if data is only passed on.
inline std::uint32_t required_ranks(const Chunk& chunk, std::uint32_t workers) {
  return aggregator::is_passed_on(chunk.description) ? 1 : workers;
}

// True if it is complete, but lacks some ranks (rule 21).
inline bool is_degraded(const Chunk& chunk, std::uint32_t workers) {
  return chunk.state == ChunkState::complete &&
         chunk.covered_count < required_ranks(chunk, workers);
}

// True if `a` must be finished before all ranks can send `b`: this is the order in which chunks
// have a right to memory.
inline bool is_earlier(const aggregator::ChunkDescription& a,
                       const aggregator::ChunkDescription& b) {
  return a.op != b.op ? a.op < b.op : a.chunk < b.chunk;
}

}  // namespace tributary::completion
