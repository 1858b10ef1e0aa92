// The completion engine's counters for each job. Written by the thread that calls the engine; any
// thread reads.
#pragma once

#include <array>
#include <cstddef>

#include "core/counter.h"
#include "core/wire/types.h"

namespace tributary::completion {

// The reasons for an escalation come first in wire::Reason; `none`: the piece names no reason.
inline constexpr std::size_t kEscalationReasons =
    static_cast<std::size_t>(wire::Reason::verify) + 1;

struct JobCounters {
  std::array<Counter, kEscalationReasons> completed;  // by the reason why the chunk came here
  Counter singles;                                    // contributions held
  Counter aggregates;                                 // aggregates held
  Counter combined_early;                             // pieces added to a sum on arrival
  Counter marks;                                      // chunks announced as escalated
  Counter piece_bytes;                                // payload of what was held
  Counter duplicates;                                 // all ranks were covered already
  Counter superseded;        // held pieces that a larger aggregate replaced
  Counter overlaps_dropped;  // aggregates, held or new, that overlapped a better one
  Counter degraded;          // results that lack ranks
  Counter left_out;          // ranks that these lack, counted for each chunk
  Counter late;              // pieces of such ranks that came later
  Counter rerequests;        // ranks asked again for dropped data
  Counter refused_full;      // pieces refused for lack of memory
  Counter given_up;          // chunks given up for earlier ones
  Counter stale;             // pieces of another epoch, attempt, host term, or of a finished chunk
  Counter invalid;           // pieces that contradict themselves
  Counter overflows;         // results marked as overflowed
  Counter float_retries;     // chunks whose sum overflowed, asked for again as floating point
  Counter probes;
  Counter results_repeated;
  Counter pending_replies;
  Counter unknown_replies;
  Counter aborts_deadline;
  Counter aborts_mismatch;
  Counter aborts_model;      // updates of a model that is not here or has another state
  Counter aborts_broken;     // an invariant broke: a defect of this program
  Counter chunks_open;       // gauge
  Counter bytes_held;        // gauge: payload buffers in use
  Counter bytes_high_water;  // gauge
  Counter latency_ns_total;  // from first piece to result
  Counter latency_ns_max;    // gauge

  [[nodiscard]] std::uint64_t completions() const {
    std::uint64_t sum = 0;
    for (const Counter& c : completed) sum += c.get();
    return sum;
  }
};

}  // namespace tributary::completion
