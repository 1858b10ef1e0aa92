// Records of the latest ops of one job in one shard, for `show op`: when each child contributed,
// what was escalated and why, and where and when results were made.
//
// A ring of kOps records, reserved at start: an op replaces the op kOps, or a multiple of that,
// before it. For all chunks it keeps events that happen once a chunk, and how late children missed
// a deadline. For an op's first chunk here and its last one it also keeps every child's arrival. If
// ops follow each other so fast that this would cost throughput, arrivals are sampled. If such an
// op is only one chunk, unsampled ones are passed over: they get a record only if something goes
// wrong. The history outlives its epoch, until the next one begins.
//
//   kept_      one line an op:   which op, its two chunks, results made here
//   arrivals_  a time a child:   of all first chunks, then of all last ones
//   events_    rare events; valid only if the op's flags say that they happened
//
// So most packets cost one branch, one whose arrival is kept a store, and a new op clears only its
// children's arrivals. A chunk entry says whether the chunk's arrivals are kept.
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

// Events that happen to a chunk at most once. The first three say where its result was made; the
// last one is followed by kEscalationReasons - 1 others.
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

// The number of chunks with this event, the first of them, and the times of the first and the last.
struct OpEvent {
  Instant first;
  Instant last;
  std::uint32_t chunks = 0;
  std::uint32_t first_chunk = 0;
};

struct alignas(64) KeptOp {
  static constexpr std::uint32_t kNoOp = tributary::kNoOp;
  // Bits of `flags` above one bit for each OpEventKind that happened.
  // A switch below sent data of the first chunk in parts; shifted by one, of the last.
  static constexpr std::uint32_t kInParts = 1u << 26;
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
static_assert(1u << kOpEvents <= KeptOp::kInParts);
static_assert(sizeof(KeptOp) == 64);
static_assert(sizeof(KeptOp) + (kOpEvents - 1) * sizeof(OpEvent) == config::kOpRecordBytes);

// The chunks of an op that were given up without a child's data.
struct MissedDeadlines {
  std::uint32_t chunks = 0;
  Duration late;  // the longest time so far that its data came after a deadline
};
static_assert(sizeof(MissedDeadlines) == config::kLatenessBytes);

class OpHistory {
 public:
  static constexpr std::uint32_t kOps = config::kOpHistory;
  static constexpr Instant kNotYet = Instant::max();
  // Arrivals are kept for ops that begin this far apart, and for one op in so many in any case: so
  // some of the latest ops, and all parts of a repeated burst, are covered. Of ops of one chunk
  // only one in kAlwaysOfSingles is left, and in time these fill the ring where the others are
  // passed over; longer ops are kept by both numbers.
  static constexpr Duration kApart = Duration::us(50);
  static constexpr std::uint32_t kAlways = 7;
  static constexpr std::uint32_t kAlwaysOfSingles = 127;
  static_assert(kAlwaysOfSingles % 2 == 1 && kOps % 2 == 0, "their places are all places");

  // `rank_words`: words of a set of ranks; 0 if every result has all ranks. `part_words`: the same;
  // 0 if no child is a switch.
  explicit OpHistory(std::uint32_t children, std::size_t rank_words = 0,
                     std::size_t part_words = 0);
  void reset();

  static KeptAs kept_as(const ChunkDescription& d, std::uint8_t shards) {
    if (d.chunk < shards) return KeptAs::first;
    return d.last ? KeptAs::last : KeptAs::nothing;
  }
  // True if this is the first data of a chunk and its op gets no record. For kOps ops after trouble
  // with an op that was passed over, none is: otherwise the ring would hold only trouble.
  [[nodiscard]] bool passes_over(const ChunkDescription& d, Instant now) const {
    return d.chunk == 0 && d.last && now < next_timed(d) && d.op % kAlwaysOfSingles != 0 &&
           !seq_before(d.op, trouble_until_);
  }
  // A child's data has come, whatever the state of its chunk. Returns whether its arrival is kept
  // in this role; a new arrival is counted in `totals`.
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
  // Another child's first data for an open chunk of which an arrival was kept in this role.
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
  // Something goes wrong with a chunk opened at `opened_at`: its op has a record from now on.
  void note_trouble(const ChunkDescription& d, OpEventKind kind, Instant opened_at, Instant now) {
    KeptOp& r = kept_[d.op % kOps];
    if (r.op != d.op) {
      if (r.op != KeptOp::kNoOp && seq_before(d.op, r.op)) return;  // long over
      begin(r, d, opened_at);
      trouble_until_ = d.op + kOps;
    }
    add(r, d, kind, now);
  }
  // Called for each child that the chunk is given up without.
  void missed(const ChunkDescription& d, std::uint16_t child) {
    if (find(d.op) != nullptr) ++missed_[place(d.op, child)].chunks;
  }
  // Data of a chunk that was given up, that long after the deadline.
  void came_late(const ChunkDescription& d, std::uint16_t child, Duration after) {
    if (find(d.op) == nullptr) return;
    MissedDeadlines& m = missed_[place(d.op, child)];
    if (m.chunks != 0) m.late = std::max(m.late, after);
  }
  // For a degraded result, after note_trouble(): the ranks that it lacks.
  void left_out(const ChunkDescription& d, std::span<const std::uint64_t> missing);
  // The ranks that some result of the op lacks.
  [[nodiscard]] std::span<const std::uint64_t> left_out(const KeptOp& record) const {
    return std::span(left_out_).subspan((record.op % kOps) * rank_words_, rank_words_);
  }

  // A switch below, which could not complete its sum of a chunk in this role, has sent the data of
  // these ranks.
  void came_in_part(const ChunkDescription& d, KeptAs as, std::span<const std::uint64_t> ranks);
  // All ranks whose data of that chunk came so; empty if none did.
  [[nodiscard]] std::span<const std::uint64_t> came_in_parts(const KeptOp& record,
                                                             KeptAs as) const {
    if ((record.flags & KeptOp::kInParts << KeptOp::index(as)) == 0) return {};
    return std::span(parts_).subspan(part_place(record.op, as), part_words_);
  }

  // In no order; records without an op have kNoOp.
  [[nodiscard]] std::span<const KeptOp> records() const { return kept_; }
  // nullptr if the op is too long ago, was never seen, or was passed over.
  [[nodiscard]] const KeptOp* find(std::uint32_t op) const {
    const KeptOp& r = kept_[op % kOps];
    return r.op == op && op != KeptOp::kNoOp ? &r : nullptr;
  }
  // All zero if the event did not happen.
  [[nodiscard]] OpEvent event(const KeptOp& record, OpEventKind kind) const;
  // The time when each child's data came, or kNotYet.
  [[nodiscard]] std::span<const Instant> arrivals(const KeptOp& record, KeptAs as) const {
    return std::span(arrivals_).subspan(arrival(record.op, as, 0), children_);
  }
  // Indexed by child.
  [[nodiscard]] std::span<const MissedDeadlines> missed(const KeptOp& record) const {
    return std::span(missed_).subspan(place(record.op, 0), children_);
  }
  [[nodiscard]] std::size_t table_bytes() const {
    return kept_.size() * config::kOpRecordBytes + arrivals_.size() * sizeof(Instant) +
           missed_.size() * sizeof(MissedDeadlines) +
           (left_out_.size() + parts_.size()) * sizeof(std::uint64_t);
  }

 private:
  static void count(const KeptOp& r, KeptAs as, Instant now, ChildTotals& totals) {
    totals.timed_arrivals.add();
    totals.lateness_ns.add(static_cast<std::uint64_t>((now - r.first_of(as)).to_ns()));
  }
  // An op that is passed on has no late ranks, so it has a turn of its own.
  static std::size_t turn_of(const ChunkDescription& d) {
    return wire::moves_data(d.collective) ? 1 : 0;
  }
  [[nodiscard]] Instant next_timed(const ChunkDescription& d) const {
    return next_timed_[turn_of(d)];
  }
  void begin(KeptOp& r, const ChunkDescription& d, Instant at) {
    if (r.happened(OpEventKind::deadline) || r.happened(OpEventKind::degraded) ||
        (r.flags & KeptOp::kInParts * 3) != 0)
      forget_the_late(r);
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
  [[nodiscard]] std::size_t part_place(std::uint32_t op, KeptAs as) const {
    return (2 * std::size_t{op % kOps} + KeptOp::index(as)) * part_words_;
  }
  // Index into `events_`.
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
  std::uint32_t trouble_until_ = 0;      // the op until which none is passed over
  std::array<Instant, 2> next_timed_{};  // the next timed op begins then, or later: summed; relayed
  std::vector<KeptOp> kept_;
  std::vector<OpEvent> events_;    // by op, all kinds but made_here
  std::vector<Instant> arrivals_;  // by chunk, op and child
  std::vector<MissedDeadlines> missed_;
  std::size_t rank_words_;
  std::vector<std::uint64_t> left_out_;
  std::size_t part_words_;
  std::vector<std::uint64_t> parts_;  // by op and chunk
};

}  // namespace tributary::aggregator
