// Whether a piece joins the cover of its chunk: the exactly-once decision, without side effects.
//
// Coverage never shrinks: a piece replaces held ones only when the union grows. And a contribution
// of a rank that is not covered always fits, so asking the missing ranks for theirs always gets on.
#pragma once

#include <cstdint>

#include "completion/pieces/chunk.h"

namespace tributary::completion {

enum class Fit : std::uint8_t {
  disjoint,   // joins
  duplicate,  // all its ranks are covered
  replaces,   // joins, and the pieces that it overlaps go
  dropped,    // overlaps, and the pieces it overlaps cover more
};

// `lost` is set to the ranks that are covered by no piece any more (replaces), or not yet
// (dropped): those to ask for their contribution. Empty otherwise.
Fit fit(const Chunk& chunk, ConstRankSet ranks, RankSet lost);

}  // namespace tributary::completion
