// Makes the result of a chunk out of its pieces, which cover all that is counted: combined in rank
// order, a mean divided once, by the number of ranks counted, narrowed to the wire type once. Or,
// where the job wants that, adds each piece to a sum as it comes (T16).
#pragma once

#include "completion/engine/job.h"

namespace tributary::completion {

struct Evaluation {
  Piece* result = nullptr;  // one of the chunk's pieces; its payload is the result
  bool overflow = false;    // of any piece, on the way, or at the end (protocol rule 12)
};

// `kernels` as Job::kernels_of() says; without, the one piece is the result.
Evaluation evaluate(Job& job, Chunk& chunk, const aggregator::Kernels* kernels);

// Adds the newest piece of a fast job's chunk to the one before it, where there is one and sums
// have room.
void combine_newest(Job& job, Chunk& chunk, const aggregator::Kernels& kernels);

}  // namespace tributary::completion
