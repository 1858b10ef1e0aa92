#include "completion/engine/engine_degrade.h"

#include "completion/engine/engine_pieces.h"

namespace tributary::completion {
namespace {

// The most messages for one chunk: a RESULT, or a request for floats to each rank.
std::size_t most_messages(const Job& job) {
  return job.limits.workers + std::size_t{1};
}

// True for a reduction of which some data is here. A barrier means that all ranks came, and a
// model's step needs all ranks' gradients; data that one rank sends alone lacks no other rank.
bool can_do_without(const Job& job, const Chunk& chunk) {
  const aggregator::ChunkDescription& d = chunk.description;
  return chunk.described && chunk.covered_count != 0 && job.kernels_of(d) != nullptr &&
         !wire::concerns_model(d.collective);
}

}  // namespace

void degrade_waiting(Job& job, Instant now, std::size_t end, aggregator::Outbox& out) {
  if (!job.degrades) return;
  while (out.items().size() + most_messages(job) <= end) {
    auto* const chunk = static_cast<Chunk*>(job.deadlines.due(now));
    if (chunk == nullptr) return;
    if (can_do_without(job, *chunk))
      complete(job, *chunk, now, out);
    else
      job.wait_again(*chunk, now);
  }
}

}  // namespace tributary::completion
