// Chunks that have waited long enough: finished without the ranks that are late, where the job
// allows that (rule 21). Decided here and nowhere else, once for each chunk, so that all ranks get
// the same bits and the same list; from then on the chunk is complete like any other.
#include "completion/engine/engine_impl.h"

namespace tributary::completion {
namespace {

// What one chunk may bring: a RESULT, or the request to all for floats.
std::size_t most_messages(const Job& job) {
  return job.limits.workers + std::size_t{1};
}

// A reduction of which something is here. A barrier says that everybody has come, and a model is
// stepped by all ranks' gradients; what one rank sends alone cannot lack another.
bool can_do_without(const Job& job, const Chunk& chunk) {
  const aggregator::ChunkDescription& d = chunk.description;
  return chunk.described && chunk.covered_count != 0 && job.kernels_of(d) != nullptr &&
         !wire::concerns_model(d.collective);
}

}  // namespace

// As many as there is room for before the box's place `end`; the next call goes on.
void Engine::Impl::degrade_waiting(Job& job, Instant now, std::size_t end, Outbox& out) {
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
