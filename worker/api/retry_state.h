// State of a rank that does ops again after an epoch that ended unannounced
// (docs/protocol/retry.md).
//
//   running ──epoch lost──▶ joining ──START──▶ agreeing ──all know who has what──▶ repeating ─┐
//      ▲                      │ ▲                 │ lost again                                │
//      │        time is over, │ └─────────────────┴────────────────────────────────────┐      │
//      │        or no way back▼                                                        │      │
//      │                    given up: ops fail as they do without a retry          lost again │
//      └────────── ops that no rank has are begun anew ◀── all have what some rank had ◀──────┘
//
// Belongs to the progress thread; progress_retry.cc drives it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "core/wire/drain.h"
#include "worker/agreement/holdings.h"
#include "worker/api/retry_log.h"
#include "worker/session/failure.h"

namespace tributary::worker {

struct RetryState {
  using State = RetryLog::State;
  enum class Stage : std::uint8_t { running, joining, agreeing, repeating, reopening };

  RetryState(std::uint32_t rank, std::uint32_t ranks, std::size_t most_bytes, Duration at_most)
      : log(rank, ranks, most_bytes), limit(at_most) {}

  // No op of the caller's may go to a session.
  [[nodiscard]] bool is_busy() const { return stage != Stage::running; }
  [[nodiscard]] wire::Resumption resumption() const {
    return past == 0 ? wire::Resumption{} : wire::Resumption{past, kNoOp};
  }

  // This rank is refused for one that was started anew. False where that may be a JOIN that came
  // late, of a rank that lives: its next one takes the place of it.
  [[nodiscard]] bool newcomer_stays(Instant now) {
    constexpr Duration kStays = Duration::seconds(1);
    constexpr Duration kGone = Duration::ms(500);
    if (!refused || now - refused->last >= kGone) refused = Refused{now, now};
    refused->last = now;
    return now - refused->first >= kStays;
  }

  RetryLog log;
  const Duration limit;
  Stage stage = Stage::running;
  // Equal on all ranks that have had the same ops: of the first epoch's START. 0: there was none.
  std::uint64_t past = 0;
  std::optional<Failure> cause;  // of the first epoch that was lost since all was well
  Instant until;                 // when it is given up
  struct Refused {
    Instant first, last;
  };
  std::optional<Refused> refused;
  std::optional<Holdings> holdings;
  // Ops that no caller has called, in the order of their numbers.
  struct Repeat {
    std::uint64_t number = 0;
    State state;
    std::unique_ptr<std::byte[]> scratch;
  };
  State exchange;
  std::deque<Repeat> repeats;
  std::size_t open_repeats = 0;
  // To be submitted, as far as a drain lets them: in agreeing, the exchange; then numbers of ops.
  std::uint64_t next = 0;
  std::uint64_t end = 0;
};

}  // namespace tributary::worker
