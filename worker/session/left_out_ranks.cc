#include "worker/session/left_out_ranks.h"

#include "core/wire/degraded.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::worker {

void LeftOutRanks::start(std::uint32_t ranks, bool allowed) {
  ranks_ = ranks;
  allowed_ = allowed;
  missing_.assign(wire::rank_words(ranks), 0);
}

bool LeftOutRanks::count_fits(const Op& op, const wire::Packet& result) {
  const wire::Header& h = result.header;
  // If one rank alone sends a chunk, the switch may count that rank only.
  if ((h.flags & wire::kFlagDegraded) == 0)
    return h.covered == ranks_ || (op.has_one_sender(h.chunk) && h.covered == 1);
  if (!allowed_ || !op.reduces() || wire::concerns_model(op.collective)) return false;
  const auto counted = wire::read_degraded_list(result.extensions, ranks_, missing_);
  return counted && *counted == h.covered;
}

bool LeftOutRanks::take(Op& op, const wire::Header& result) const {
  if ((result.flags & wire::kFlagDegraded) == 0) return false;
  op.left_out.resize(missing_.size());
  for (std::size_t i = 0; i < missing_.size(); ++i) op.left_out[i] |= missing_[i];
  if (op.receives(result.chunk)) op.lacking.push_back({result.chunk, result.covered});
  return true;
}

}  // namespace tributary::worker
