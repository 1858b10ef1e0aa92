// Computes the result of a chunk from its pieces, which cover all counted ranks: combined in rank
// order; a mean is divided once, by the number of ranks counted; narrowed to the wire type once.
// Or, if the job is configured for it, adds each piece to a sum as it comes (T16).
#pragma once

#include "completion/engine/job.h"

namespace tributary::completion {

struct Evaluation {
  Piece* result = nullptr;  // one of the chunk's pieces; its payload is the result
  bool overflow = false;    // of any piece, while combining, or at the end (protocol rule 12)
};

// `kernels` is Job::kernels_of()'s result; if it is nullptr, the one piece is the result.
Evaluation evaluate(Job& job, Chunk& chunk, const aggregator::Kernels* kernels);

// Adds the newest piece of a fast job's chunk to the one before it, if there is one and its buffer
// has room for sums.
void combine_newest(Job& job, Chunk& chunk, const aggregator::Kernels& kernels);

}  // namespace tributary::completion
