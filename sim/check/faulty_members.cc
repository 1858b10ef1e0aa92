#include "sim/check/faulty_members.h"

#include "sim/network/draft.h"
#include "sim/node/hostile_node.h"

namespace tributary::sim {
namespace {

constexpr std::size_t kRemembered = 16;

}  // namespace

void FaultyMembers::contribution_sent(WorkerNode& node, const FrameRef& frame) {
  if (run_.scenario().hostile.faulty_ppm == 0 ||
      Instant() + run_.scenario().heal_at <= run_.world().now())
    return;
  auto& lately = contributions_[node.id()];
  lately.push_back(frame);
  if (lately.size() > kRemembered) lately.pop_front();
  if (!random_.chance_ppm(run_.scenario().hostile.faulty_ppm)) return;
  const FrameRef& base = lately[random_.below(static_cast<std::uint32_t>(lately.size()))];
  config::JobConfig job;
  job.chunk_bytes = node.options().job->carried_chunk_bytes();
  job.shards = node.options().job->shards;
  const Draft draft = *take_apart(base.bytes());
  // A refusal would end the epoch that the worker runs: it may lie, but not about who it is.
  if (draft.header.epoch != node.session()->epoch()) return;
  FrameRef bent = put_together(run_.world().frames(), bend(draft, job, random_));
  bent.writable().truth.forged = true;
  faults_.count_frame_fault(FaultKind::faulty_member, base);
  node.send_extra(bent);
}

}  // namespace tributary::sim
