// Results that reach ranks before they reach this switch, because a host has notified them itself
// (T9, protocol "Ways of notifying"). The host's decision stands: the switch catches up.
#include <algorithm>

#include "aggregator/shard/shard.h"

namespace tributary::aggregator {
namespace {

// All packets that a child sends ahead of the window ask for the same result.
constexpr Duration kRecallSpacing = Duration::ms(2);

}  // namespace

// A child is ahead of this switch's window, so it holds the result of the window's lowest chunk:
// the copy for the root, or the root's own result, was lost. The host has it.
Decision Shard::recall(ShardJob& job, const wire::Header& ahead, Instant now, Outbox& out) {
  const Decision refused = {Verdict::dropped, DropReason::beyond_window};
  if (job.config.notify == wire::Notify::root || now - job.recalled_at < kRecallSpacing)
    return refused;
  ChunkEntry* e = nullptr;
  if (job.table.find(job.table.low(), e) != ChunkTable::Place::seen) return refused;
  const bool asks_parent = e->state == ChunkState::sent && job.config.parent;
  const bool asks_host = e->state == ChunkState::escalated ||
                         (e->state == ChunkState::sent && !asks_parent && job.host_term != 0);
  if (!asks_parent && !asks_host) return refused;
  job.recalled_at = now;
  job.counters.recalls.add();
  wire::Packet question;
  question.header = job.header(wire::PacketType::probe);
  question.header.child = ahead.child;
  question.header.origin = job.child_map.lowest_rank(ahead.child);
  question.header.op = e->description.op;
  question.header.chunk = e->description.chunk;
  question.header.seq = e->seq;
  question.header.shard = index_;
  question.header.collective = e->description.collective;
  question.header.covered = 1;
  question.header.attempt = e->retried ? wire::kFloatRetry : 0;
  if (asks_parent)
    ask_parent(job, question.header, e, now, out);
  else
    forward(job, question, 0, out);
  return refused;
}

// For this switch the result counts as the parent's, but the parent itself was not heard.
Decision Shard::on_hosted_result(const wire::Packet& packet, Instant now, Outbox& out) {
  ShardJob* const job = by_id_.find(packet.header.job);
  if (job == nullptr) return {Verdict::dropped, DropReason::bad_shard};
  const Instant heard = job->parent_heard;
  const Decision decision = on_parent(packet, now, out);
  job->parent_heard = heard;
  return decision;
}

bool Shard::waits_for_host(std::uint32_t place) const {
  if (jobs_[place] == nullptr) return false;
  const auto& entries = jobs_[place]->table.entries();
  return std::any_of(entries.begin(), entries.end(), [&](const ChunkEntry& e) {
    return e.state != ChunkState::unseen && is_with_host(place, e.seq);
  });
}

}  // namespace tributary::aggregator
