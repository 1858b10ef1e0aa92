// Results that lack ranks, where the job allows them (rule 21). Every rank is given the same bits
// and the same list, the ones on it included: their op ends with it, too, and they learn that they
// were not counted.
#include "core/wire/degraded.h"
#include "core/wire/rank_bitmap.h"
#include "worker/session/session.h"

namespace tributary::worker {

// Whether as many ranks are inside as have to be. Leaves the list of the missing ones in left_out_.
bool Session::count_fits(const Op& op, const wire::Packet& result) {
  const wire::Header& h = result.header;
  // Where one rank alone sends a chunk, the switch may count that rank only.
  if ((h.flags & wire::kFlagDegraded) == 0)
    return h.covered == options_.size || (op.has_one_sender(h.chunk) && h.covered == 1);
  if (!may_lack_ranks_ || !op.reduces() || wire::concerns_model(op.collective)) return false;
  const auto counted = wire::read_degraded_list(result.extensions, options_.size, left_out_);
  return counted && *counted == h.covered;
}

// The result of one chunk is taken: count_fits() was asked last.
void Session::note_left_out(Op& op, const wire::Header& result) {
  if ((result.flags & wire::kFlagDegraded) == 0) return;
  counters_.degraded.add();
  op.left_out.resize(left_out_.size());
  for (std::size_t i = 0; i < left_out_.size(); ++i) op.left_out[i] |= left_out_[i];
  if (op.receives(result.chunk)) op.lacking.push_back({result.chunk, result.covered});
}

}  // namespace tributary::worker
