// The completion engine's messages to the root: results, answers to probes, the end of an epoch.
#pragma once

#include "aggregator/chunk/outbox.h"
#include "completion/engine/engine.h"
#include "completion/engine/job.h"

namespace tributary::completion {

// Rule 6: RESULT, PENDING or UNKNOWN.
Decision on_probe(Job& job, const wire::Packet& packet, aggregator::Outbox& out);
// Without room in the box it sends nothing: a probe of the rank that misses the result brings it.
void send_result(Job& job, const Chunk& chunk, aggregator::Outbox& out);
// Asks these ranks for their data of the chunk, once more.
void ask_again(Job& job, const Chunk& chunk, ConstRankSet ranks, aggregator::Outbox& out);

// The epoch ends, and the root is told why.
// A piece by the ranks in Job::ranks says of the chunk what others of it did not.
Decision abort_mismatch(Job& job, const Chunk& chunk, const aggregator::ChunkDescription& got,
                        aggregator::Outbox& out);
void abort_overdue(Job& job, const Chunk& chunk, aggregator::Outbox& out);
void abort_model(Job& job, const Chunk& chunk, wire::Reason reason, aggregator::Outbox& out);
// Names no chunk: after a broken invariant, the chunk tables cannot be trusted.
Decision abort_broken(Job& job, aggregator::Outbox& out);
// The same ABORT, for nodes that have missed it.
Decision repeat_abort(Job& job, aggregator::Outbox& out);

}  // namespace tributary::completion
