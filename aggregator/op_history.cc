#include "aggregator/op_history.h"

#include "core/seq.h"

namespace tributary::aggregator {

OpHistory::OpHistory(std::uint32_t children)
    : children_(children),
      records_(kOps),
      arrivals_(std::size_t{kOps} * 2 * children, kNotYet),
      missed_(std::size_t{kOps} * children) {}

void OpHistory::reset() {
  end_ = 0;
  std::fill(records_.begin(), records_.end(), OpRecord());
  std::fill(arrivals_.begin(), arrivals_.end(), kNotYet);
  std::fill(missed_.begin(), missed_.end(), MissedDeadlines());
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
