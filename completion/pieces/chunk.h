// One chunk at the completion engine.
//
//   unseen ──first piece or mark──▶ open ──exact cover──▶ complete ──root accepted──▶ released
//                                    └─waited too long──▶ (without some ranks, rule 21)
//     ▲  ▲                           │                                                  │
//     │  └────── given up (memory) ──┘                                                  │
//     └──────────────────────── seq + 2W takes the place ◀──────────────────────────────┘
//
// Invariant: the pieces of an open chunk are pairwise disjoint and `covered` is their union. So
// nothing can be counted twice, and the chunk is complete exactly when `covered_count` reaches
// what is required, or is decided not to be waited for. From then on `covered` is what the result
// is made of. (Protocol rules 5, 7 and 21.)
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
  wire::Reason reason = wire::Reason::none;  // why it came here: of the first piece or mark
  std::uint8_t attempt = 0;                  // 1: sent again as floating point (rule 12)
  bool described = false;                    // a mark may come before anything that describes it
  bool given_up = false;                     // by the root: more came than an excluded rank's data
  std::uint32_t seq = 0;
  std::uint32_t flags = 0;       // sticky: CE
  std::uint32_t slot = 0;        // as the first sender computed it
  std::uint32_t first_rank = 0;  // whose description is the reference
  aggregator::ChunkDescription description;
  Piece* pieces = nullptr;  // open: what it is made of; complete: the one with the result
  RankSet covered;
  std::uint32_t covered_count = 0;
  std::uint32_t piece_count = 0;
  bool overflow = false;  // complete: of the result
  Chunk* previous_open = nullptr;
  Chunk* next_open = nullptr;
};

// Ranks that the chunk's result is made of: one for what is only passed on.
inline std::uint32_t required_ranks(const Chunk& chunk, std::uint32_t workers) {
  return aggregator::is_passed_on(chunk.description) ? 1 : workers;
}

// Complete, but without some ranks (rule 21).
inline bool is_degraded(const Chunk& chunk, std::uint32_t workers) {
  return chunk.state == ChunkState::complete &&
         chunk.covered_count < required_ranks(chunk, workers);
}

// Whether `a` has to be finished before `b` can be sent by everybody: the order in which chunks
// have a right to memory.
inline bool is_earlier(const aggregator::ChunkDescription& a,
                       const aggregator::ChunkDescription& b) {
  return a.op != b.op ? a.op < b.op : a.chunk < b.chunk;
}

}  // namespace tributary::completion
