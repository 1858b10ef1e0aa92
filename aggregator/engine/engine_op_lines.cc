// What became of one op, for `show op`: its records in all shards as lines in order of time, and
// who missed this switch's deadline by how much (T3, T22). Runs on the engine's thread on request;
// may allocate, so never per packet.
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

// One op in one shard.
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
    add_event(OpEventKind::made_by_parent, "result of the parent");
  }

 private:
  bool add_event(OpEventKind kind, const std::string& what) {
    const OpEvent e = job_.history.event(record_, kind);
    if (e.chunks == 0) return false;
    out_.push_back(
        {shard_, e.first - began_, what, e.first_chunk, e.chunks, e.last - began_, {}, {}});
    return true;
  }
  [[nodiscard]] std::vector<std::uint32_t> ranks_of(std::uint32_t child) const {
    const auto ranks = job_.child_map.ranks_of(child);
    return {ranks.begin(), ranks.end()};
  }
  void add_arrivals(KeptAs which) {
    const auto arrivals = job_.history.arrivals(record_, which);
    const Instant deadline = record_.first_of(which) + job_.deadlines.timeout();
    for (std::uint32_t child = 0; child < job_.fan_in; ++child) {
      if (arrivals[child] == OpHistory::kNotYet) continue;
      const Duration at = arrivals[child] - began_;
      const Duration late = record_.passed_on() ? Duration() : arrivals[child] - deadline;
      out_.push_back({shard_, at, "arrived", record_.chunk_of(which), 1, at,
                      std::max(Duration(), late), ranks_of(child)});
    }
  }
  void add_missed(Instant now) {
    const auto missed = job_.history.missed(record_);
    const OpEvent deadline = job_.history.event(record_, OpEventKind::deadline);
    for (std::uint32_t child = 0; child < job_.fan_in; ++child) {
      if (missed[child].chunks == 0) continue;
      const bool here = missed[child].late > Duration();
      const Duration so_far = job_.running ? now - deadline.first : Duration();
      out_.push_back({shard_, deadline.first - began_,
                      here ? "missed the deadline" : "missed the deadline, is not here",
                      deadline.first_chunk, missed[child].chunks, deadline.last - began_,
                      here ? missed[child].late : so_far, ranks_of(child)});
    }
  }

  const ShardJob& job_;
  const KeptOp& record_;
  std::uint8_t shard_;
  Instant began_;
  std::vector<OpLine>& out_;
};

}  // namespace

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
