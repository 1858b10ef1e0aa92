// The second attempt of a chunk whose fixed-point sum overflowed: as floating point (rule 12).
#pragma once

#include "aggregator/chunk/outbox.h"
#include "completion/engine/job.h"
#include "core/time.h"

namespace tributary::completion {

// Asks the covered ranks for floats: they still have the values that they scaled.
void retry_as_float(Job& job, Chunk& chunk, Instant now, aggregator::Outbox& out);

}  // namespace tributary::completion
