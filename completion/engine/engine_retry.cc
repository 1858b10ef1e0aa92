#include "completion/engine/engine_retry.h"

#include <algorithm>

#include "completion/engine/engine_replies.h"

namespace tributary::completion {

void retry_as_float(Job& job, Chunk& chunk, Instant now, aggregator::Outbox& out) {
  std::copy(chunk.covered.begin(), chunk.covered.end(), job.lost.begin());
  job.begin_attempt(chunk, wire::kFloatRetry, now);
  chunk.reason = wire::Reason::overflow;
  job.counters.float_retries.add();
  ask_again(job, chunk, job.lost, out);
  job.refresh_gauges();
}

}  // namespace tributary::completion
