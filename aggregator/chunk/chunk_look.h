// What an engine knows of the chunk that a packet names, for people: `tributary trace`.
#pragma once

#include <cstdint>

#include "aggregator/chunk/chunk_state.h"
#include "aggregator/chunk/verdict.h"

namespace tributary::aggregator {

struct ChunkLook {
  // Of one that holds a slot.
  static constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;

  bool known = false;  // the packet names a chunk of a job that is here; the rest says more
  ChunkState state = ChunkState::unseen;
  std::uint16_t arrived = 0;  // children whose data is here, or is not waited for
  std::uint16_t fan_in = 0;
  std::uint32_t slot = kNoSlot;
  std::uint64_t children = 0;  // that arrived: a bit for each of the first 64
};

const char* name_of(Verdict verdict);
const char* name_of(ChunkState state);

}  // namespace tributary::aggregator
