// The engine's state of the chunk that a packet names, for `tributary trace`.
#pragma once

#include <cstdint>

#include "aggregator/chunk/chunk_state.h"
#include "aggregator/chunk/verdict.h"

namespace tributary::aggregator {

struct ChunkLook {
  // Stands for "no slot": the chunk holds none.
  static constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;

  bool known = false;  // the packet names a chunk of a job here; only then the rest is valid
  ChunkState state = ChunkState::unseen;
  std::uint16_t arrived = 0;  // children whose data is here, or that are not waited for
  std::uint16_t fan_in = 0;
  std::uint32_t slot = kNoSlot;
  std::uint64_t children = 0;  // that arrived: a bit for each of the first 64 children
};

const char* name_of(Verdict verdict);
const char* name_of(ChunkState state);

}  // namespace tributary::aggregator
