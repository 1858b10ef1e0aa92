// Jobs whose ranks choose how many they are (docs/protocol/resize.md). Each JOIN states the number,
// and an epoch begins when all ranks that it counts state the same. Others wait for a later one.
#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {

// Nothing: the JOIN is handled as in any job.
std::optional<Decision> Engine::Impl::admit_size(Job& job, const wire::Packet& packet,
                                                 const Endpoint& from, std::uint16_t child,
                                                 Instant now, Outbox& out) {
  if (job.membership.state() == JobState::running) {
    if (child < job.child_map.count()) return std::nullopt;
    send_join_pending(job, *wire::find_nonce(packet.extensions), from, now, out);
    job.counters.joins.add();
    return Decision{Verdict::answered};
  }
  const std::uint32_t size = packet.header.fan_in;
  if (const auto other = job.membership.contradicting(child, size, now); other != Membership::kNone)
    if (const auto said = contradict(job, packet, from, child, other, out)) return *said;
  take_size(job, size);
  return std::nullopt;
}

// Two such ranks can never be in one epoch, and each waits for the other. A newcomer yields to
// ranks that go on from a drain, and is refused as it repeats its JOIN. As in any job, a rank of
// the epoch before that begins anew prevails over them.
std::optional<Decision> Engine::Impl::contradict(Job& job, const wire::Packet& packet,
                                                 const Endpoint& from, std::uint16_t child,
                                                 std::uint32_t other, Outbox& out) {
  Drain& drain = job.drain;
  const bool is_resumed = drain.forming.resumes();
  const bool resumes = wire::find_resumption(packet.extensions).resumes();
  const bool with_resumers = is_resumed && drain.forming_size == packet.header.fan_in;
  if (other >= job.newcomers_from && (resumes || with_resumers)) return std::nullopt;
  if (resumes) {
    scratch_ids[0] = other;
    blame(job, wire::Reason::rank_restarted, 1);
    return refuse_to_resume(job, packet, from, out);
  }
  const std::uint32_t size = job.membership.member(other).size;
  if (!is_resumed || drain.forming_size != size || child >= job.newcomers_from)
    return refuse(packet, from, wire::Reason::job_size_mismatch, DropReason::join_mismatch, &job,
                  out);
  for (std::uint32_t c = 0; c < size; ++c)
    if (const Member& m = job.membership.member(c); m.joined && m.size == size)
      job.membership.leave(c);
  drain.forming = {};
  return std::nullopt;
}

// The next epoch has the number of ranks that the last JOIN stated, if it can begin then. What the
// sender counts is noted only with its place: another process may have that.
void Engine::Impl::take_size(Job& job, std::uint32_t size) {
  if (!config::resizes(job.config) || job.membership.state() == JobState::running) return;
  job.resize(size);
}

}  // namespace tributary::aggregator
