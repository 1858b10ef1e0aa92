// Answers of a job's membership to named data: senders, and this switch's place at its parent.
#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {

// An epoch that was aborted still says who its members were: values outlive it.
NameSender Engine::name_sender(const wire::Header& h, const Endpoint& from) const {
  const Job* const job = impl_->job_index.find(h.job);
  if (job == nullptr) return {};
  if (job->upstream && job->upstream->is_from(from)) return {.kind = NameSender::Kind::parent};
  if (!job->child_map.knows(h) || job->membership.member(h.child).peer != from) return {};
  return {.kind = job->child_map[h.child].is_switch ? NameSender::Kind::child_switch
                                                    : NameSender::Kind::worker,
          .child = h.child,
          .children = &job->child_map};
}

void Engine::address_up(wire::Header& h) const {
  const Job* const job = impl_->job_index.find(h.job);
  if (job == nullptr || !job->upstream) return;
  h.epoch = job->upstream->epoch();
  h.origin = impl_->switch_id;
  h.child = job->upstream->child();
  h.fan_in = job->upstream->fan_in();
}

}  // namespace tributary::aggregator
