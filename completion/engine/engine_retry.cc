// The second attempt of a chunk whose fixed-point sum overflowed: as floating point (rule 12).
#include <algorithm>

#include "completion/engine/engine_impl.h"

namespace tributary::completion {

// Rule 12: the workers still have the values that they scaled.
void Engine::Impl::retry_as_float(Job& job, Chunk& chunk, Instant now, Outbox& out) {
  std::copy(chunk.covered.begin(), chunk.covered.end(), job.lost.begin());
  job.begin_attempt(chunk, wire::kFloatRetry, now);
  chunk.reason = wire::Reason::overflow;
  job.counters.float_retries.add();
  ask_again(job, chunk, job.lost, out);
  job.refresh_gauges();
}

}  // namespace tributary::completion
