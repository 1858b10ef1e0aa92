// Makes the result of a chunk whose pieces are an exact cover: combined in rank order, a mean
// divided once, narrowed to the wire type once.
#pragma once

#include "completion/job.h"

namespace tributary::completion {

struct Evaluation {
  Piece* result = nullptr;  // one of the chunk's pieces; its payload is the result
  bool overflow = false;    // of any piece, on the way, or at the end (protocol rule 12)
};

// The kernels that a chunk's data needs; nullptr for a chunk without elements and for what is only
// passed on, and where the type has no such operation.
const aggregator::Kernels* kernels_of(const aggregator::ChunkDescription& description,
                                      wire::Arithmetic arithmetic);

// `kernels` as kernels_of() says.
Evaluation evaluate(Job& job, Chunk& chunk, const aggregator::Kernels* kernels);

}  // namespace tributary::completion
