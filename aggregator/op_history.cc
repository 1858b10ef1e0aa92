#include "aggregator/op_history.h"

namespace tributary::aggregator {

OpHistory::OpHistory(std::uint32_t children, std::size_t rank_words)
    : children_(children),
      records_(kOps),
      arrivals_(std::size_t{kOps} * 2 * children, kNotYet),
      missed_(std::size_t{kOps} * children),
      rank_words_(rank_words),
      left_out_(kOps * rank_words) {}

void OpHistory::reset() {
  end_ = 0;
  std::fill(records_.begin(), records_.end(), OpRecord());
  std::fill(arrivals_.begin(), arrivals_.end(), kNotYet);
  std::fill(missed_.begin(), missed_.end(), MissedDeadlines());
  std::fill(left_out_.begin(), left_out_.end(), 0);
}

void OpHistory::degraded(const ChunkDescription& d, std::span<const std::uint64_t> missing,
                         Instant now) {
  OpRecord* const r = find_for_event(d.op);
  if (r == nullptr) return;
  r->degraded.note(d.chunk, now);
  const auto all = std::span(left_out_).subspan((d.op % kOps) * rank_words_, rank_words_);
  for (std::size_t i = 0; i < rank_words_; ++i) all[i] |= missing[i];
}

void OpHistory::begin(OpRecord& r, const ChunkDescription& d, Instant now) {
  if (r.deadline.chunks != 0)
    std::fill_n(missed_.begin() + static_cast<std::ptrdiff_t>(place(d.op, 0)), children_,
                MissedDeadlines());
  if (r.degraded.chunks != 0)
    std::fill_n(left_out_.begin() + static_cast<std::ptrdiff_t>(d.op % kOps * rank_words_),
                rank_words_, 0);
  if (r.eventful) r = OpRecord();  // 500 bytes, which most ops leave as they were
  r.made[static_cast<std::size_t>(MadeBy::here)].chunks = 0;
  r.has_chunk = {};
  r.used = true;
  r.op = d.op;
  end_ = std::max(end_, d.op + 1);
  r.began = now;
  r.elements = d.element_count;
  r.collective = d.collective;
  r.dtype = d.dtype;
}

void OpHistory::begin_chunk(OpRecord& r, std::size_t which, std::uint32_t chunk, Instant now) {
  r.first_arrival[which] = now;
  r.chunk[which] = chunk;
  r.has_chunk[which] = true;
  const std::size_t first = 2 * place(r.op, 0) + which * children_;
  std::fill_n(arrivals_.begin() + static_cast<std::ptrdiff_t>(first), children_, kNotYet);
}

}  // namespace tributary::aggregator
