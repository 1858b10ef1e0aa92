// The chunks a rank has in flight, and the lists they wait in.
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
// Rule 2: a shard's seq s may be sent only when every result up to s − W is held; hence
// next − base ≤ W, and chunk s lives at index s mod W of its shard until its result is held. Where
// data meets queues, what a rank sends is bounded by less than W (rule 15).
// All state is an array of shards × W chunks; lists are intrusive, so each step is O(1).
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
  Instant armed_at;  // when it was overtaken, or probed last
  // Places in the order of what this rank sent and heard (Session::next_order_).
  std::uint64_t news = 0;   // its data was sent, or it was said to be pending
  std::uint64_t data = 0;   // its data was sent
  std::uint64_t probe = 0;  // it was probed because its shard was silent; 0: not so, or answered
  ChunkIndex next = kNoChunk;
  ChunkIndex previous = kNoChunk;
  Phase phase = Phase::idle;
  std::uint8_t shard = 0;
  std::uint8_t backoff = 0;  // the timer it is in is doubled this many times
  std::uint8_t pendings = 0;
  std::uint8_t attempt = 0;  // 1: its fixed-point sum overflowed, and was made again of floats
  bool as_floats = false;    // sent so at once, as others overflowed (rule 12)
  // Sent first as fixed point under this exponent, of the caller's choice.
  std::optional<std::int16_t> fixed_exponent;
  bool sent = false;            // at least once
  bool counted = false;         // as a contribution
  bool resend = false;          // the switch may have seen it: flag what is sent
  bool only_received = false;   // another rank sends it
  bool only_sent_here = false;  // no other rank does
  bool at_host = false;         // asks for the completion host
  bool sum_lost = false;        // a sum with this rank's data inside was lost, says a switch
  bool ambiguous = false;       // probed or resent: no round-trip sample (Karn's rule)
  bool reports_mark = false;    // tells of an earlier result that met a queue (rule 15)
  bool marked = false;          // its result tells of a queue that data met

  [[nodiscard]] bool is_of_floats() const { return as_floats || attempt != 0; }
};

// FIFO of chunks.
using ChunkList = IndexList<ChunkState, &ChunkState::previous, &ChunkState::next>;
static_assert(ChunkList::kNone == kNoChunk);

// One shard's place in the sequence, and what it sends next.
struct ShardWindow {
  std::uint32_t base = 0;  // all results before it are held
  std::uint32_t next = 0;  // the next seq to send
  Op* op = nullptr;        // whose chunk is next here; nullptr: nothing to send
  std::uint32_t chunk = 0;
  bool ack_due = false;        // results are held that no packet has acknowledged
  std::uint32_t received = 0;  // of chunks that this rank does not send, since the last ACK
  // A result came before this rank had asked for it; seqs before this one may be there already.
  std::optional<std::uint32_t> missed_before;
  Instant last_activity;
  Fallback host;    // from sums that are lost, to the completion host
  Fallback floats;  // from fixed-point sums that overflow under fixed_exponent, to floats
  std::optional<std::int16_t> fixed_exponent;
  CongestionWindow congestion;
  bool mark_to_report = false;  // a result met a queue on its way to this rank (rule 15)

  ChunkList flight;     // waiting, in the order of ChunkState::news
  Instant quiet_since;  // no result since then, or nothing was in flight before
  Instant timer_from;   // the shard counts as silent some time after this
  Duration patience;    // that time, after a PENDING; otherwise 0: the retransmission timeout

  [[nodiscard]] bool open(std::uint32_t window) const { return next - base < window; }
  // The same for what this rank sends, or only waits for.
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
