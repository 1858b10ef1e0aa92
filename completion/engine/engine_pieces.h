// Contributions and aggregates: checks them, adds them to the cover of their chunk, combines them.
#pragma once

#include "aggregator/chunk/outbox.h"
#include "completion/engine/engine.h"
#include "completion/engine/job.h"
#include "core/time.h"

namespace tributary::completion {

// A CONTRIBUTION, an AGGREGATE, or an ESCALATION with data.
Decision on_piece(Job& job, const wire::Packet& packet, Instant now, aggregator::Outbox& out);
// An ESCALATION without: data of the chunk will come.
Decision on_mark(Job& job, const wire::Packet& packet, Instant now);
// Combines the pieces of a chunk, and sends the result; or asks for another attempt, or ends the
// epoch.
void complete(Job& job, Chunk& chunk, Instant now, aggregator::Outbox& out);

}  // namespace tributary::completion
