// A rank's chunks in flight, and the lists that they wait in.
//
//   idle ─send─▶ waiting ─result, in any phase─▶ held ─all before it held─▶ idle
//                 │ │ ▲
//       a later   │ │ └──────PENDING───────┐
//       one's     │ └──shard silent──▶ probed ──UNKNOWN──▶ queued ─resent─▶ waiting
//       result    ▼                        ▲                 (queued also: the transport
//             overtaken ───a little later──┘                  had no room for it)
//
//   waiting, overtaken ──UNKNOWN, because a sum was lost──▶ queued
//
// Rule 2: a shard's seq s may be sent only when every result up to s − W is held. So next − base ≤
// W, and chunk s is at index s mod W of its shard until its result is held. Where data meets
// queues, a rank sends less than W (rule 15). All state is an array of shards × W chunks; lists are
// intrusive, so each step is O(1).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index_list.h"
#include "core/seq.h"
#include "core/time.h"
#include "core/wire/attempt.h"
#include "worker/session/congestion_window.h"
#include "worker/session/fallback.h"
#include "worker/session/op.h"

namespace tributary::worker {

using ChunkIndex = std::uint32_t;
inline constexpr ChunkIndex kNoChunk = ~ChunkIndex{0};

struct ChunkState {
  enum class Phase : std::uint8_t { idle, queued, waiting, overtaken, probed, held };

  Op* op = nullptr;
  std::uint32_t chunk = 0;
  std::uint32_t seq = 0;
  Instant first_sent;
  Instant armed_at;  // when it was overtaken, or last probed
  // Places in the order of this rank's sends and receptions (Flights::next_order_).
  std::uint64_t news = 0;   // its data was sent, or PENDING came for it
  std::uint64_t data = 0;   // its data was sent
  std::uint64_t probe = 0;  // probed because its shard was silent; 0: it was not, or an answer came
  ChunkIndex next = kNoChunk;
  ChunkIndex previous = kNoChunk;
  Phase phase = Phase::idle;
  std::uint8_t shard = 0;
  std::uint8_t backoff = 0;  // number of doublings of its timer
  std::uint8_t pendings = 0;
  std::uint8_t attempt = 0;  // 1: its fixed-point sum overflowed, and was summed again as floats
  bool as_floats = false;    // sent so at once, because others overflowed (rule 12)
  // First sent as fixed point under this exponent, which the caller chose.
  std::optional<std::int16_t> fixed_exponent;
  bool sent = false;            // at least once
  bool counted = false;         // as a contribution
  bool resend = false;          // the switch may have seen it: flag the resend
  bool only_received = false;   // another rank sends it
  bool only_sent_here = false;  // no other rank sends it
  bool at_host = false;         // asks for the completion host
  bool sum_lost = false;        // a switch reported the loss of a sum with this rank's data
  bool ambiguous = false;       // probed or resent: no round-trip sample (Karn's rule)
  bool reports_mark = false;    // reports a mark on an earlier result (rule 15)
  bool marked = false;          // its result carries a congestion mark

  [[nodiscard]] bool is_of_floats() const { return as_floats || attempt != 0; }
};

// FIFO of chunks.
using ChunkList = IndexList<ChunkState, &ChunkState::previous, &ChunkState::next>;
static_assert(ChunkList::kNone == kNoChunk);

// One shard's place in the sequence, and its next chunk to send.
struct ShardWindow {
  std::uint32_t base = 0;  // all results before it are held
  std::uint32_t next = 0;  // the next seq to send
  Op* op = nullptr;        // the op of the next chunk; nullptr: nothing to send
  std::uint32_t chunk = 0;
  bool ack_due = false;        // some results held are not acknowledged by any packet
  std::uint32_t received = 0;  // since the last ACK, for chunks that this rank does not send
  // A result came before this rank asked for it; results of seqs before this one may exist already.
  std::optional<std::uint32_t> missed_before;
  Instant last_activity;
  Fallback host;    // replaces lost sums by the completion host
  Fallback floats;  // replaces fixed-point sums that overflow under fixed_exponent by floats
  std::optional<std::int16_t> fixed_exponent;
  CongestionWindow congestion;
  bool mark_to_report = false;  // a result got a mark on its way to this rank (rule 15)

  ChunkList flight;     // waiting, in the order of ChunkState::news
  Instant quiet_since;  // no result since then, or since the flight was empty
  Instant timer_from;   // the shard counts as silent some time after this
  Duration patience;    // that time, after a PENDING; otherwise 0: the retransmission timeout

  [[nodiscard]] bool open(std::uint32_t window) const { return next - base < window; }
  // The same for chunks that this rank sends, or only waits for.
  [[nodiscard]] bool may_begin(std::uint32_t window) const {
    if (open(congestion.limit())) return true;
    return open(window) && !op->contributes(chunk);
  }
  [[nodiscard]] bool in_flight(std::uint32_t seq) const { return seq - base < next - base; }

  // Moves on to the next chunk of this shard: in the same op, or in the first later op that has
  // one.
  void advance(std::uint8_t shard, std::uint8_t shards) {
    chunk += shards;
    if (chunk < op->chunks && chunk >= shards) return;
    chunk = shard;
    do op = op->next;
    while (op != nullptr && op->chunks <= shard);
  }
};

}  // namespace tributary::worker
