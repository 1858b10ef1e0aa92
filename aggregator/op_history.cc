#include "aggregator/op_history.h"

#include "core/seq.h"

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
  OpRecord* const r = find(d.op);
  if (r == nullptr) return;
  r->degraded.note(d.chunk, now);
  const auto all = std::span(left_out_).subspan((d.op % kOps) * rank_words_, rank_words_);
  for (std::size_t i = 0; i < rank_words_; ++i) all[i] |= missing[i];
}

std::optional<Duration> OpHistory::arrived(const ChunkDescription& d, std::uint8_t shards,
                                           std::uint16_t child, Instant now) {
  OpRecord& r = records_[d.op % kOps];
  if (r.used && seq_before(d.op, r.op)) return std::nullopt;  // long over
  if (!r.used || r.op != d.op) {
    r = OpRecord();
    r.used = true;
    r.op = d.op;
    end_ = std::max(end_, d.op + 1);
    r.began = now;
    r.elements = d.element_count;
    r.collective = d.collective;
    r.dtype = d.dtype;
    const std::size_t first = place(d.op, 0);
    std::fill_n(arrivals_.begin() + static_cast<std::ptrdiff_t>(2 * first), 2 * children_, kNotYet);
    std::fill_n(missed_.begin() + static_cast<std::ptrdiff_t>(first), children_, MissedDeadlines());
    std::fill_n(left_out_.begin() + static_cast<long>((d.op % kOps) * rank_words_), rank_words_, 0);
  }
  const std::size_t which = d.chunk < shards ? 0 : 1;
  if (!r.has_chunk[which]) r.first_arrival[which] = now;
  r.chunk[which] = d.chunk;
  r.has_chunk[which] = true;
  Instant& at = arrivals_[2 * place(d.op, 0) + which * children_ + child];
  if (at != kNotYet) return std::nullopt;
  at = now;
  return now - r.first_arrival[which];
}

}  // namespace tributary::aggregator
