// The history of one op, for `show op`: its records in all shards as lines in order of time, and
// how late children missed this switch's deadline (T3, T22). Runs on the engine's thread on
// request; may allocate, so never per packet.
#include <algorithm>
#include <array>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

std::vector<std::uint32_t> ranks_in(std::span<const std::uint64_t> set) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < 64 * set.size(); ++rank)
    if ((set[rank / 64] >> (rank % 64) & 1) != 0) ranks.push_back(rank);
  return ranks;
}

// The lines of one op in one shard.
class Lines {
 public:
  Lines(const ShardJob& job, const KeptOp& record, std::uint8_t shard, Instant began,
        std::vector<OpLine>& out)
      : job_(job), record_(record), shard_(shard), began_(began), out_(out) {}

  void add_all(Instant now) {
    for (const KeptAs which : kKeptChunks)
      if (record_.has(which)) add_arrivals(which);
    if (add_event(OpEventKind::deadline, "deadline passed")) add_missed(now);
    for (std::size_t why = 0; why < kEscalationReasons; ++why) {
      const auto reason = static_cast<wire::Reason>(why);
      add_event(escalated_for(reason), std::string("escalated: ").append(wire::name_of(reason)));
    }
    add_event(OpEventKind::float_retry, "asked for again as floats");
    if (add_event(OpEventKind::degraded, "result without these ranks"))
      out_.back().ranks = ranks_in(job_.history.left_out(record_));
    add_event(OpEventKind::sent_up,
              job_.config.parent ? "sent to the parent" : "sent to be verified");
    add_event(OpEventKind::made_here, "result made here");
    add_event(OpEventKind::made_by_completion, "result of the completion engine");
    if (add_event(OpEventKind::made_by_parent, "result of the parent"))
      out_.back().sender = OpLine::kParent;
  }

 private:
  bool add_event(OpEventKind kind, const std::string& what) {
    const OpEvent e = job_.history.event(record_, kind);
    if (e.chunks == 0) return false;
    out_.push_back(
        {shard_, e.first - began_, what, e.first_chunk, e.chunks, e.last - began_, {}, {}});
    return true;
  }
  // The ranks of a child by whether their data of that chunk came. A child's data is of all its
  // ranks, unless it came in parts.
  struct Ranks {
    std::vector<std::uint32_t> came;
    std::vector<std::uint32_t> lacking;
  };
  [[nodiscard]] Ranks ranks_of(std::uint32_t child, std::span<const std::uint64_t> parts) const {
    const auto all = job_.child_map.ranks_of(child);
    Ranks ranks;
    for (const std::uint32_t rank : all) {
      const bool came = !parts.empty() && (parts[rank / 64] >> (rank % 64) & 1) != 0;
      (came ? ranks.came : ranks.lacking).push_back(rank);
    }
    if (ranks.came.empty()) std::swap(ranks.came, ranks.lacking);
    return ranks;
  }
  void add_arrivals(KeptAs which) {
    const auto arrivals = job_.history.arrivals(record_, which);
    const Instant deadline = record_.first_of(which) + job_.deadlines.timeout();
    for (std::uint32_t child = 0; child < job_.fan_in; ++child) {
      if (arrivals[child] == OpHistory::kNotYet) continue;
      const Duration at = arrivals[child] - began_;
      const Duration late = record_.passed_on() ? Duration() : arrivals[child] - deadline;
      const Ranks ranks = ranks_of(child, job_.history.came_in_parts(record_, which));
      out_.push_back({shard_, at, "arrived", record_.chunk_of(which), 1, at,
                      std::max(Duration(), late), ranks.came, child});
      if (!ranks.lacking.empty())
        out_.push_back({shard_,
                        at,
                        "arrived without these ranks",
                        record_.chunk_of(which),
                        1,
                        at,
                        {},
                        ranks.lacking,
                        child});
    }
  }
  void add_missed(Instant now) {
    const auto missed = job_.history.missed(record_);
    const OpEvent deadline = job_.history.event(record_, OpEventKind::deadline);
    const Duration so_far = job_.running ? now - deadline.first : Duration();
    for (std::uint32_t child = 0; child < job_.fan_in; ++child) {
      const MissedDeadlines& m = missed[child];
      if (m.chunks == 0) continue;
      const bool here = m.late > Duration();
      const Ranks ranks = ranks_of(child, parts_of(deadline.first_chunk));
      add_late(deadline, m.chunks, here, here ? m.late : so_far, ranks.came);
      if (!ranks.lacking.empty()) add_late(deadline, m.chunks, false, so_far, ranks.lacking);
    }
  }
  void add_late(const OpEvent& deadline, std::uint32_t chunks, bool here, Duration late,
                const std::vector<std::uint32_t>& ranks) {
    out_.push_back({shard_, deadline.first - began_,
                    here ? "missed the deadline" : "missed the deadline, is not here",
                    deadline.first_chunk, chunks, deadline.last - began_, late, ranks});
  }
  // The ranks that came in parts to a chunk, if that is kept.
  [[nodiscard]] std::span<const std::uint64_t> parts_of(std::uint32_t chunk) const {
    for (const KeptAs which : kKeptChunks)
      if (record_.has(which) && record_.chunk_of(which) == chunk)
        return job_.history.came_in_parts(record_, which);
    return {};
  }

  const ShardJob& job_;
  const KeptOp& record_;
  std::uint8_t shard_;
  Instant began_;
  std::vector<OpLine>& out_;
};

// Adds one shard's record of an op to those of other shards.
void add_record(const ShardJob& job, const KeptOp& record, Instant now, KnownOp& known) {
  const auto trouble = [&](OpEventKind kind, const std::string& what) {
    if (job.history.event(record, kind).chunks == 0) return;
    if (std::find(known.trouble.begin(), known.trouble.end(), what) == known.trouble.end())
      known.trouble.push_back(what);
  };
  known.ago = std::max(known.ago, now - record.began);
  known.timed = known.timed || (record.flags & KeptOp::kTimed) != 0;
  for (const OpEventKind made :
       {OpEventKind::made_here, OpEventKind::made_by_parent, OpEventKind::made_by_completion})
    known.finished = known.finished || record.happened(made);
  trouble(OpEventKind::deadline, "deadline passed");
  for (std::size_t why = 0; why < kEscalationReasons; ++why) {
    const auto reason = static_cast<wire::Reason>(why);
    trouble(escalated_for(reason), std::string("escalated: ").append(wire::name_of(reason)));
  }
  trouble(OpEventKind::float_retry, "asked for again as floats");
  trouble(OpEventKind::degraded, "result without some ranks");
}

}  // namespace

std::vector<KnownOp> Engine::known_ops(std::uint32_t id, Instant now) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return {};
  std::vector<KnownOp> ops;
  for (const auto& shard : impl_->shards) {
    const ShardJob* const part = find_part(shard.get(), job->place);
    if (part == nullptr) continue;
    for (const KeptOp& record : part->history.records()) {
      if (record.op == KeptOp::kNoOp) continue;
      auto known = std::find_if(ops.begin(), ops.end(),
                                [&](const KnownOp& one) { return one.op == record.op; });
      if (known == ops.end()) {
        ops.push_back({record.op, Duration(), false, false, {}});
        known = ops.end() - 1;
      }
      add_record(*part, record, now, *known);
    }
  }
  std::sort(ops.begin(), ops.end(),
            [](const KnownOp& a, const KnownOp& b) { return seq_before(a.op, b.op); });
  return ops;
}

std::vector<OpLine> Engine::op_lines(std::uint32_t id, std::uint32_t op, Instant now) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return {};
  // Times count from the first contribution to any shard.
  Instant began = Instant::max();
  for (const auto& shard : impl_->shards)
    if (const ShardJob* const part = find_part(shard.get(), job->place))
      if (const KeptOp* const r = part->history.find(op)) began = std::min(began, r->began);
  if (began == Instant::max()) return {};
  std::vector<OpLine> lines;
  const Duration deadline = job->config.deadline;
  lines.push_back({0, deadline, "deadline of the first chunk", 0, 1, deadline, {}, {}});
  for (const auto& shard : impl_->shards)
    if (const ShardJob* const part = find_part(shard.get(), job->place))
      if (const KeptOp* const r = part->history.find(op))
        Lines(*part, *r, shard->index(), began, lines).add_all(now);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const OpLine& a, const OpLine& b) { return a.at < b.at; });
  return lines;
}

}  // namespace tributary::aggregator
