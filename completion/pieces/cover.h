// Decides whether a piece joins the cover of its chunk: exactly once, without side effects.
//
// Coverage never shrinks: a piece replaces held ones only if the union grows. A contribution of a
// rank that is not covered always fits, so asking missing ranks for theirs always helps.
#pragma once

#include <cstdint>

#include "completion/pieces/chunk.h"

namespace tributary::completion {

enum class Fit : std::uint8_t {
  disjoint,   // joins
  duplicate,  // all its ranks are covered
  replaces,   // joins; the pieces that it overlaps are dropped
  dropped,    // overlaps, and those pieces cover more
};

// Sets `lost` to the ranks that no piece covers any more (replaces), or yet (dropped): they are
// asked for their contribution. Empty in the other cases.
Fit fit(const Chunk& chunk, ConstRankSet ranks, RankSet lost);

}  // namespace tributary::completion
