// Chunks that have waited long enough: finished without the late ranks, if the job allows that
// (rule 21). Decided here and nowhere else, once for each chunk, so that all ranks get the same
// bits and the same list; from then on the chunk is complete like any other.
#pragma once

#include <cstddef>

#include "aggregator/chunk/outbox.h"
#include "completion/engine/job.h"
#include "core/time.h"

namespace tributary::completion {

// Finishes as many as there is room for before the box's place `end`; the next call continues.
void degrade_waiting(Job& job, Instant now, std::size_t end, aggregator::Outbox& out);

}  // namespace tributary::completion
