// Ranks whose process may be gone (rule 1). A rank that has been silent while others wait for its
// data is asked by START; a member that lives answers by LEASE. If no process has its UDP port, its
// host sends the question back (ICMP port unreachable): that ends the epoch at once. Silence alone
// ends it with the lease.
#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

// A rank that waits for a result asks for it again after 250 ms at most: questions of this loop
// need no more than that.
constexpr Duration kSilent = Duration::ms(200);
constexpr Duration kQuestionsApart = Duration::ms(200);
// A limit for each job; the next questions begin where these ended.
constexpr std::uint32_t kMostQuestions = 4;
// Messages that the rest of expire() may need, beside three of each job.
constexpr std::size_t kRoomForOthers = 16;

}  // namespace

// True if some rank has asked for a result since the last call: it has sent its data, and waits.
bool Engine::Impl::has_waiting_ranks(Job& job) const {
  std::uint64_t probes = 0;
  for (const auto& shard : all_shards)
    if (const ShardJob* const part = shard->find_job(job.place))
      probes += part->counters.probes.get();
  const bool more = probes != job.questions.probes;
  job.questions.probes = probes;
  return more;
}

void Engine::Impl::ask_silent(Job& job, Instant now, Outbox& out) {
  if (now < job.questions.due || job.membership.state() != JobState::running) return;
  job.questions.due = now + kQuestionsApart;
  if (!has_waiting_ranks(job)) return;
  const std::uint32_t count = job.child_map.count();
  const std::size_t spare = 3 * jobs.size() + kRoomForOthers;
  std::uint32_t asked = 0;
  for (std::uint32_t i = 0; i < count && asked < kMostQuestions && out.room() > spare; ++i) {
    const std::uint32_t child = (job.questions.next_child + i) % count;
    if (job.child_map[child].is_switch) continue;  // their links have leases of their own
    collect_last_heard(job, child);
    const Member& m = job.membership.member(child);
    if (!m.present || now - m.last_seen < kSilent) continue;
    send_start(job, child, out);
    if (++asked == kMostQuestions) job.questions.next_child = child + 1;
  }
}

Decision Engine::on_returned(const wire::Packet& sent, const Endpoint& from, Outbox& out) {
  const wire::Header& h = sent.header;
  Job* const job = impl_->job_index.find(h.job);
  if (job == nullptr) return {Verdict::dropped, DropReason::unknown_job};
  if (h.type != wire::PacketType::start) return {Verdict::dropped, DropReason::bad_type};
  if (h.plane != job->config.plane) return {Verdict::dropped, DropReason::bad_shard};
  if (h.epoch != job->membership.epoch()) return {Verdict::dropped, DropReason::stale_epoch};
  if (h.child >= job->child_map.count()) return {Verdict::dropped, DropReason::bad_child};
  const Member& m = job->membership.member(h.child);
  if (job->membership.state() != JobState::running || !m.present)
    return {Verdict::dropped, DropReason::not_joined};
  if (m.peer != from || wire::find_nonce(sent.extensions) != m.nonce)
    return {Verdict::dropped, DropReason::sender_mismatch};
  impl_->blame_child(*job, h.child);
  job->counters.aborts_lease.add();
  impl_->abort_epoch(*job, wire::Reason::lease_expired, out);
  return {Verdict::epoch_aborted};
}

}  // namespace tributary::aggregator
