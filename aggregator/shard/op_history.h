// What became of the latest ops of one job in one shard, for `show op`: who contributed when, what
// was escalated and why, and where and when results were made.
//
// A ring of kOps records, reserved at start: an op takes the place of one kOps, or a multiple of
// that, before it. Of all chunks it keeps what happens once for a chunk, and who missed a deadline
// by how much. Of an op's first chunk here and of its last one it keeps every child's arrival, too.
// Of ops that follow each other so closely that this would be felt, arrivals are kept only now and
// then; and where one chunk is all of such an op, the others are passed over: they have a record
// only if something goes wrong. It outlives its epoch, until the next one begins.
//
//   kept_      one line an op:   which op, its two chunks, results made here
//   arrivals_  a time a child:   of all first chunks, then of all last ones
//   events_    what most ops never see; worth something only where the op's line says so
//
// So most packets cost one branch, one whose arrival is kept a store, and a new op clears nothing
// but its children's arrivals. A chunk's chunk entry says whether its arrivals are kept.
//
// Owner: the ShardJob, whose Shard writes it; read on the same thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/chunk/contribution.h"
#include "aggregator/chunk/counters.h"
#include "config/plan/aggregation_memory.h"
#include "core/op_number.h"
#include "core/seq.h"
#include "core/time.h"

namespace tributary::aggregator {

// What happens to a chunk at most once. The first three say where its result was made; the last one
// is followed by kEscalationReasons - 1 others.
enum class OpEventKind : std::uint8_t {
  made_here,
  made_by_parent,
  made_by_completion,
  sent_up,
  float_retry,
  degraded,  // a result that lacks ranks
  deadline,  // passed; the epoch ended with it, or the chunk was escalated
  escalated,
};
constexpr OpEventKind escalated_for(wire::Reason reason) {
  return static_cast<OpEventKind>(static_cast<std::size_t>(OpEventKind::escalated) +
                                  static_cast<std::size_t>(reason));
}
inline constexpr std::size_t kOpEvents =
    static_cast<std::size_t>(OpEventKind::escalated) + kEscalationReasons;

// How many chunks something happened to, to which first, and to the first and the last when.
struct OpEvent {
  Instant first;
  Instant last;
  std::uint32_t chunks = 0;
  std::uint32_t first_chunk = 0;
};

struct alignas(64) KeptOp {
  static constexpr std::uint32_t kNoOp = tributary::kNoOp;
  // Of `flags`, above one bit for each OpEventKind that happened.
  static constexpr std::uint32_t kPassedOn = 1u << 28;  // one rank's data, nothing is combined
  static constexpr std::uint32_t kTimed = 1u << 29;     // arrivals are kept
  static constexpr std::uint32_t kHasFirst = 1u << 30;
  static constexpr std::uint32_t kHasLast = 1u << 31;

  std::uint32_t op = kNoOp;
  std::uint32_t flags = 0;
  Instant began;                         // the first chunk's first contribution here, or the last's
  std::array<std::uint32_t, 2> chunk{};  // whose arrivals are kept: the first, the last of the op
  std::array<Instant, 2> first_arrival{};
  OpEvent made_here;

  static constexpr std::size_t index(KeptAs as) { return as == KeptAs::last ? 1 : 0; }
  static constexpr std::uint32_t bit(KeptAs as) {
    return as == KeptAs::last ? kHasLast : kHasFirst;
  }
  [[nodiscard]] bool has(KeptAs as) const { return (flags & bit(as)) != 0; }
  [[nodiscard]] std::uint32_t chunk_of(KeptAs as) const { return chunk[index(as)]; }
  [[nodiscard]] Instant first_of(KeptAs as) const { return first_arrival[index(as)]; }
  [[nodiscard]] bool passed_on() const { return (flags & kPassedOn) != 0; }
  [[nodiscard]] bool happened(OpEventKind kind) const {
    return (flags >> static_cast<unsigned>(kind) & 1) != 0;
  }
};
inline constexpr std::array kKeptChunks = {KeptAs::first, KeptAs::last};
static_assert(1u << kOpEvents <= KeptOp::kPassedOn);
static_assert(sizeof(KeptOp) == 64);
static_assert(sizeof(KeptOp) + (kOpEvents - 1) * sizeof(OpEvent) == config::kOpRecordBytes);

// A child's chunks of an op that were given up without its data.
struct MissedDeadlines {
  std::uint32_t chunks = 0;
  Duration late;  // the most that its data came after a deadline, so far
};
static_assert(sizeof(MissedDeadlines) == config::kLatenessBytes);

class OpHistory {
 public:
  static constexpr std::uint32_t kOps = config::kOpHistory;
  static constexpr Instant kNotYet = Instant::max();
  // Arrivals are kept of ops that begin so far apart; and of one in so many in any case, so that
  // there are some among the latest ops, and from all parts of a burst that comes again and again.
  // The second is what is left of ops of one chunk, and fills the ring where the others are passed
  // over; longer ops are kept by both.
  static constexpr Duration kApart = Duration::us(50);
  static constexpr std::uint32_t kAlways = 7;
  static constexpr std::uint32_t kAlwaysOfSingles = 127;
  static_assert(kAlwaysOfSingles % 2 == 1 && kOps % 2 == 0, "their places are all places");

  // `rank_words`: of a set of ranks; 0 where every result has all.
  explicit OpHistory(std::uint32_t children, std::size_t rank_words = 0);
  void reset();

  static KeptAs kept_as(const ChunkDescription& d, std::uint8_t shards) {
    if (d.chunk < shards) return KeptAs::first;
    return d.last ? KeptAs::last : KeptAs::nothing;
  }
  // The first data of a chunk, and nothing will be kept of its op: for a while after trouble with
  // one that was passed over, none is, or records of trouble would be all that there is.
  [[nodiscard]] bool passes_over(const ChunkDescription& d, Instant now) const {
    return d.chunk == 0 && d.last && now < next_timed(d) && d.op % kAlwaysOfSingles != 0 &&
           !seq_before(d.op, trouble_until_);
  }
  // A child's data has come, whatever is known of its chunk. Says whether it is kept in this place;
  // counted in `totals` if it is news.
  KeptAs arrived(const ChunkDescription& d, KeptAs as, std::uint16_t child, Instant now,
                 ChildTotals& totals) {
    KeptOp& r = kept_[d.op % kOps];
    if (r.op != d.op) {
      if (r.op != KeptOp::kNoOp && seq_before(d.op, r.op)) return KeptAs::nothing;  // long over
      begin_timed(r, d, now);
    }
    if ((r.flags & KeptOp::kTimed) == 0) return KeptAs::nothing;
    return take_time(r, d, as, child, now, totals);
  }
  // The child's first data for a chunk that is open, and of which another's was kept so.
  void arrived_further(const ChunkDescription& d, KeptAs as, std::uint16_t child, Instant now,
                       ChildTotals& totals) {
    const KeptOp& r = kept_[d.op % kOps];
    if (r.op != d.op) return;
    arrivals_[arrival(d.op, as, child)] = now;
    if (!r.passed_on()) count(r, as, now, totals);
  }
  void note(const ChunkDescription& d, OpEventKind kind, Instant now) {
    KeptOp& r = kept_[d.op % kOps];
    if (r.op == d.op) add(r, d, kind, now);
  }
  // What goes wrong with a chunk, which was opened then: its op has a record from now on.
  void note_trouble(const ChunkDescription& d, OpEventKind kind, Instant opened_at, Instant now) {
    KeptOp& r = kept_[d.op % kOps];
    if (r.op != d.op) {
      if (r.op != KeptOp::kNoOp && seq_before(d.op, r.op)) return;  // long over
      begin(r, d, opened_at);
      trouble_until_ = d.op + kOps;
    }
    add(r, d, kind, now);
  }
  // Of each child without whose data the chunk went.
  void missed(const ChunkDescription& d, std::uint16_t child) {
    if (find(d.op) != nullptr) ++missed_[place(d.op, child)].chunks;
  }
  // Data of a chunk that was given up, so long after the deadline.
  void came_late(const ChunkDescription& d, std::uint16_t child, Duration after) {
    if (find(d.op) == nullptr) return;
    MissedDeadlines& m = missed_[place(d.op, child)];
    if (m.chunks != 0) m.late = std::max(m.late, after);
  }
  // Of a degraded result, which is noted as trouble before: the ranks that it lacks.
  void left_out(const ChunkDescription& d, std::span<const std::uint64_t> missing);
  // Ranks that some result of the op lacks.
  [[nodiscard]] std::span<const std::uint64_t> left_out(const KeptOp& record) const {
    return std::span(left_out_).subspan((record.op % kOps) * rank_words_, rank_words_);
  }

  // In no order; the op of some is kNoOp.
  [[nodiscard]] std::span<const KeptOp> records() const { return kept_; }
  // nullptr: too long ago, never seen, or passed over.
  [[nodiscard]] const KeptOp* find(std::uint32_t op) const {
    const KeptOp& r = kept_[op % kOps];
    return r.op == op && op != KeptOp::kNoOp ? &r : nullptr;
  }
  // All zero where it did not happen.
  [[nodiscard]] OpEvent event(const KeptOp& record, OpEventKind kind) const;
  // When each child's data came; kNotYet.
  [[nodiscard]] std::span<const Instant> arrivals(const KeptOp& record, KeptAs as) const {
    return std::span(arrivals_).subspan(arrival(record.op, as, 0), children_);
  }
  // By child.
  [[nodiscard]] std::span<const MissedDeadlines> missed(const KeptOp& record) const {
    return std::span(missed_).subspan(place(record.op, 0), children_);
  }
  [[nodiscard]] std::size_t table_bytes() const {
    return kept_.size() * config::kOpRecordBytes + arrivals_.size() * sizeof(Instant) +
           missed_.size() * sizeof(MissedDeadlines) + left_out_.size() * sizeof(std::uint64_t);
  }

 private:
  static void count(const KeptOp& r, KeptAs as, Instant now, ChildTotals& totals) {
    totals.timed_arrivals.add();
    totals.lateness_ns.add(static_cast<std::uint64_t>((now - r.first_of(as)).to_ns()));
  }
  // Nobody is late in an op that is passed on: it takes no other's turn.
  static std::size_t turn_of(const ChunkDescription& d) {
    return wire::moves_data(d.collective) ? 1 : 0;
  }
  [[nodiscard]] Instant next_timed(const ChunkDescription& d) const {
    return next_timed_[turn_of(d)];
  }
  void begin(KeptOp& r, const ChunkDescription& d, Instant at) {
    if (r.happened(OpEventKind::deadline) || r.happened(OpEventKind::degraded)) forget_the_late(r);
    r.op = d.op;
    r.flags = wire::moves_data(d.collective) ? KeptOp::kPassedOn : 0;
    r.began = at;
  }
  void begin_timed(KeptOp& r, const ChunkDescription& d, Instant now) {
    begin(r, d, now);
    if (now < next_timed(d) && d.op % kAlways != 0 && d.op % kAlwaysOfSingles != 0) return;
    r.flags |= KeptOp::kTimed;
    next_timed_[turn_of(d)] = now + kApart;
  }
  void add(KeptOp& r, const ChunkDescription& d, OpEventKind kind, Instant now) {
    OpEvent& e = kind == OpEventKind::made_here ? r.made_here : events_[event_place(d.op, kind)];
    const std::uint32_t bit = 1u << static_cast<unsigned>(kind);
    if ((r.flags & bit) == 0) {
      r.flags |= bit;
      e.first = now;
      e.first_chunk = d.chunk;
      e.chunks = 0;
    }
    ++e.chunks;
    e.last = now;
  }
  void forget_the_late(const KeptOp& r);
  KeptAs take_time(KeptOp& r, const ChunkDescription& d, KeptAs as, std::uint16_t child,
                   Instant now, ChildTotals& totals);
  // In `events_`.
  static std::size_t event_place(std::uint32_t op, OpEventKind kind) {
    return std::size_t{op % kOps} * (kOpEvents - 1) + static_cast<std::size_t>(kind) - 1;
  }
  [[nodiscard]] std::size_t arrival(std::uint32_t op, KeptAs as, std::uint16_t child) const {
    return (KeptOp::index(as) * kOps + op % kOps) * children_ + child;
  }
  [[nodiscard]] std::size_t place(std::uint32_t op, std::uint16_t child) const {
    return std::size_t{op % kOps} * children_ + child;
  }

  std::uint32_t children_;
  std::uint32_t trouble_until_ = 0;      // an op
  std::array<Instant, 2> next_timed_{};  // one that begins then, or later: summed, passed on
  std::vector<KeptOp> kept_;
  std::vector<OpEvent> events_;    // by op, all kinds but made_here
  std::vector<Instant> arrivals_;  // by chunk, op and child
  std::vector<MissedDeadlines> missed_;
  std::size_t rank_words_;
  std::vector<std::uint64_t> left_out_;
};

}  // namespace tributary::aggregator
