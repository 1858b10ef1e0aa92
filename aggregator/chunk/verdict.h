// The outcome of a packet.
#pragma once

#include <cstdint>

#include "core/drop_reason.h"

namespace tributary::aggregator {

// `dropped` and `refused` carry a DropReason.
enum class Verdict : std::uint8_t {
  opened,         // first contribution of a chunk: a slot is held
  folded,         // summed into an open slot
  completed,      // last contribution, or the parent's result: the result went out
  answered,       // reply sent: RESULT, PENDING, UNKNOWN, START or ACK
  noted,          // state updated, no reply (ack, lease)
  epoch_aborted,  // this packet ended the epoch: ABORT went to every member
  refused,        // NACK or ABORT sent back
  dropped,
  forwarded,  // went on to the completion host
  sent_up,    // last contribution: the sum went to the parent
};
struct Decision {
  Verdict verdict;
  DropReason reason = DropReason::none;
};

// The outcome of a request to exclude a child, or to take it back.
struct Ruling {
  enum class Refusal : std::uint8_t {
    none,
    unknown_job,
    not_running,
    no_child,
    begun,     // `op` is the first that has not begun
    last,      // no other child takes part
    excluded,  // already, from `op` on
    not_excluded,
    shard_away,
    returning,  // takes part again from `op` on, which has not begun
  };
  Refusal refusal = Refusal::none;
  std::uint32_t op = 0;  // the first op for which it holds
};
const char* text_of(Ruling::Refusal refusal);

}  // namespace tributary::aggregator
