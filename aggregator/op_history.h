// What became of the latest ops of one job in one shard, for `show op`: who contributed when, what
// was escalated and why, and where and when results were made.
//
// A ring of kOps records, reserved at start: an op takes the place of the one kOps before it. Of an
// op's first chunk here and of its last one every child's arrival is kept; of all other chunks only
// what happens once for a chunk, so that most packets cost one branch, and what comes after a
// deadline. It outlives its epoch, until the next one begins.
//
// Owner: the ShardJob, whose Shard writes it; read on the same thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/contribution.h"
#include "aggregator/counters.h"
#include "config/aggregation_memory.h"
#include "core/seq.h"
#include "core/time.h"

namespace tributary::aggregator {

// Where a chunk's result was made.
enum class MadeBy : std::uint8_t { here, completion_engine, parent, count_ };

// How many chunks something happened to, and to which and when first and last.
struct OpEvent {
  std::uint32_t chunks = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t last_chunk = 0;
  Instant first;
  Instant last;

  void note(std::uint32_t chunk, Instant now) {
    if (chunks++ == 0) {
      first = now;
      first_chunk = chunk;
    }
    last = now;
    last_chunk = chunk;
  }
};

struct OpRecord {
  std::uint32_t op = 0;
  bool used = false;
  bool eventful = false;       // something happened other than results made here
  std::uint32_t elements = 0;  // of the first chunk
  wire::Collective collective = wire::Collective::allreduce;
  wire::DType dtype = wire::DType::none;
  std::array<std::uint32_t, 2> chunk{};  // whose arrivals are kept: the first, the last of the op
  std::array<bool, 2> has_chunk{};
  std::array<Instant, 2> first_arrival{};
  Instant began;  // first contribution here
  std::array<OpEvent, static_cast<std::size_t>(MadeBy::count_)> made;
  OpEvent sent_up;
  OpEvent float_retries;
  OpEvent degraded;  // results that lack ranks
  OpEvent deadline;  // passed; the epoch ended with it, or the chunk was escalated
  std::array<OpEvent, kEscalationReasons> escalated;
};
static_assert(sizeof(OpRecord) <= config::kOpRecordBytes);

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

  // `rank_words`: of a set of ranks; 0 where every result has all.
  explicit OpHistory(std::uint32_t children, std::size_t rank_words = 0);
  void reset();

  // Whether a chunk's arrivals are kept.
  static bool keeps(const ChunkDescription& d, std::uint8_t shards) {
    return d.chunk < shards || d.last;
  }
  // How far this is behind the chunk's first arrival; nullopt: it is no news.
  std::optional<Duration> arrived(const ChunkDescription& d, std::uint8_t shards,
                                  std::uint16_t child, Instant now) {
    OpRecord& r = records_[d.op % kOps];
    if (!r.used || r.op != d.op) {
      if (r.used && seq_before(d.op, r.op)) return std::nullopt;  // long over
      begin(r, d, now);
    }
    const std::size_t which = d.chunk < shards ? 0 : 1;
    if (!r.has_chunk[which]) begin_chunk(r, which, d.chunk, now);
    Instant& at = arrivals_[2 * place(d.op, 0) + which * children_ + child];
    if (at != kNotYet) return std::nullopt;
    at = now;
    return now - r.first_arrival[which];
  }
  void sent_up(const ChunkDescription& d, Instant now) {
    if (OpRecord* r = find_for_event(d.op)) r->sent_up.note(d.chunk, now);
  }
  void made(const ChunkDescription& d, MadeBy by, Instant now) {
    OpRecord* const r = by == MadeBy::here ? find(d.op) : find_for_event(d.op);
    if (r != nullptr) r->made[static_cast<std::size_t>(by)].note(d.chunk, now);
  }
  void escalated(const ChunkDescription& d, wire::Reason reason, Instant now) {
    if (OpRecord* r = find_for_event(d.op))
      r->escalated[static_cast<std::size_t>(reason)].note(d.chunk, now);
  }
  void deadline_passed(const ChunkDescription& d, Instant now) {
    if (OpRecord* r = find_for_event(d.op)) r->deadline.note(d.chunk, now);
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
  void retried(const ChunkDescription& d, Instant now) {
    if (OpRecord* r = find_for_event(d.op)) r->float_retries.note(d.chunk, now);
  }

  void degraded(const ChunkDescription& d, std::span<const std::uint64_t> missing, Instant now);
  // Ranks that some result of the op lacks.
  [[nodiscard]] std::span<const std::uint64_t> left_out(const OpRecord& record) const {
    return std::span(left_out_).subspan((record.op % kOps) * rank_words_, rank_words_);
  }

  // What arrived() will touch.
  void prefetch(std::uint32_t op, std::uint32_t chunk, std::uint8_t shards,
                std::uint16_t child) const {
    const std::size_t which = chunk < shards ? 0 : 1;
    __builtin_prefetch(&records_[op % kOps], 1);
    __builtin_prefetch(&arrivals_[2 * place(op, 0) + which * children_ + child], 1);
  }

  // Every op that was seen is before it.
  [[nodiscard]] std::uint32_t end() const { return end_; }
  // nullptr: too long ago, or never seen.
  [[nodiscard]] const OpRecord* find(std::uint32_t op) const {
    const OpRecord& r = records_[op % kOps];
    return r.used && r.op == op ? &r : nullptr;
  }
  // When each child's data came, of the record's `which` chunk; kNotYet.
  [[nodiscard]] std::span<const Instant> arrivals(const OpRecord& record, std::size_t which) const {
    return std::span(arrivals_).subspan(2 * place(record.op, 0) + which * children_, children_);
  }
  // By child.
  [[nodiscard]] std::span<const MissedDeadlines> missed(const OpRecord& record) const {
    return std::span(missed_).subspan(place(record.op, 0), children_);
  }
  [[nodiscard]] std::size_t table_bytes() const {
    return records_.size() * config::kOpRecordBytes + arrivals_.size() * sizeof(Instant) +
           missed_.size() * sizeof(MissedDeadlines) + left_out_.size() * sizeof(std::uint64_t);
  }

 private:
  void begin(OpRecord& r, const ChunkDescription& d, Instant now);
  void begin_chunk(OpRecord& r, std::size_t which, std::uint32_t chunk, Instant now);
  // For what does not happen to most ops.
  [[nodiscard]] OpRecord* find_for_event(std::uint32_t op) {
    OpRecord* const r = find(op);
    if (r != nullptr) r->eventful = true;
    return r;
  }
  [[nodiscard]] OpRecord* find(std::uint32_t op) {
    OpRecord& r = records_[op % kOps];
    return r.used && r.op == op ? &r : nullptr;
  }
  [[nodiscard]] std::size_t place(std::uint32_t op, std::uint16_t child) const {
    return std::size_t{op % kOps} * children_ + child;
  }

  std::uint32_t children_;
  std::uint32_t end_ = 0;
  std::vector<OpRecord> records_;
  std::vector<Instant> arrivals_;  // of the first chunk by child, of the last one by child
  std::vector<MissedDeadlines> missed_;
  std::size_t rank_words_;
  std::vector<std::uint64_t> left_out_;
};

}  // namespace tributary::aggregator
