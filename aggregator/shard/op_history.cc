#include "aggregator/shard/op_history.h"

namespace tributary::aggregator {

OpHistory::OpHistory(std::uint32_t children, std::size_t rank_words, std::size_t part_words)
    : children_(children),
      kept_(kOps),
      events_(kOps * (kOpEvents - 1)),
      arrivals_(std::size_t{kOps} * 2 * children, kNotYet),
      missed_(std::size_t{kOps} * children),
      rank_words_(rank_words),
      left_out_(kOps * rank_words),
      part_words_(part_words),
      parts_(2 * kOps * part_words) {}

void OpHistory::reset() {
  trouble_until_ = 0;
  next_timed_ = {};
  std::fill(kept_.begin(), kept_.end(), KeptOp());
  std::fill(missed_.begin(), missed_.end(), MissedDeadlines());
  std::fill(left_out_.begin(), left_out_.end(), 0);
  std::fill(parts_.begin(), parts_.end(), 0);
}

OpEvent OpHistory::event(const KeptOp& record, OpEventKind kind) const {
  if (!record.happened(kind)) return {};
  if (kind == OpEventKind::made_here) return record.made_here;
  return events_[event_place(record.op, kind)];
}

void OpHistory::left_out(const ChunkDescription& d, std::span<const std::uint64_t> missing) {
  if (find(d.op) == nullptr) return;
  const auto all = std::span(left_out_).subspan((d.op % kOps) * rank_words_, rank_words_);
  for (std::size_t i = 0; i < rank_words_; ++i) all[i] |= missing[i];
}

void OpHistory::came_in_part(const ChunkDescription& d, KeptAs as,
                             std::span<const std::uint64_t> ranks) {
  if (find(d.op) == nullptr || part_words_ == 0) return;
  kept_[d.op % kOps].flags |= KeptOp::kInParts << KeptOp::index(as);
  const auto all = std::span(parts_).subspan(part_place(d.op, as), part_words_);
  for (std::size_t i = 0; i < part_words_; ++i) all[i] |= ranks[i];
}

void OpHistory::forget_the_late(const KeptOp& r) {
  if (r.happened(OpEventKind::deadline))
    std::fill_n(missed_.begin() + static_cast<std::ptrdiff_t>(place(r.op, 0)), children_,
                MissedDeadlines());
  if (r.happened(OpEventKind::degraded))
    std::fill_n(left_out_.begin() + static_cast<std::ptrdiff_t>(r.op % kOps * rank_words_),
                rank_words_, 0);
  if ((r.flags & KeptOp::kInParts * 3) != 0)
    std::fill_n(parts_.begin() + static_cast<std::ptrdiff_t>(part_place(r.op, KeptAs::first)),
                2 * part_words_, 0);
}

KeptAs OpHistory::take_time(KeptOp& r, const ChunkDescription& d, KeptAs as, std::uint16_t child,
                            Instant now, ChildTotals& totals) {
  Instant* const all = &arrivals_[arrival(d.op, as, 0)];
  if (!r.has(as)) {
    r.flags |= KeptOp::bit(as);
    r.chunk[KeptOp::index(as)] = d.chunk;
    r.first_arrival[KeptOp::index(as)] = now;
    std::fill_n(all, children_, kNotYet);
  }
  if (all[child] != kNotYet) return as;
  all[child] = now;
  if (!r.passed_on()) count(r, as, now, totals);
  return as;
}

}  // namespace tributary::aggregator
