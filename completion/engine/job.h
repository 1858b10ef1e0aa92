// One job inside the completion engine: its chunks, the pieces they hold, and who may hold more.
// Internal to the completion folder.
//
// Each (job, shard) has a ring of 2W chunks, as at a switch: whoever sends seq s holds all results
// up to s − W, so everybody holds those up to s − 2W, and s may take their place.
//
// Memory: a chunk is opened only with a right to one piece for each rank, so what is open can be
// finished. When no right is left, an earlier chunk takes it from the latest one. The earliest
// unfinished chunk of the job therefore always gets on, and with it every rank that waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "aggregator/kernels/kernel_table.h"
#include "completion/pieces/chunk.h"
#include "completion/pieces/counters.h"
#include "completion/pieces/deadline_queue.h"
#include "completion/pieces/declared_order.h"
#include "completion/pieces/limits.h"
#include "core/wire/attempt.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::completion {

class Model;

enum class JobState : std::uint8_t { idle, running, aborted };

// Why this engine asked for the end of the epoch, to say it again to whoever has not heard.
struct AbortCause {
  wire::Reason reason = wire::Reason::none;
  wire::Header chunk;  // op, chunk, seq and shard of the chunk concerned; otherwise zero
  std::vector<std::uint32_t> missing;
  bool has_error = false;
  wire::OpError error;
};

class Job {
 public:
  explicit Job(const JobLimits& limits);

  // Forgets everything; the epoch's first chunks have `first_seq`.
  void start(std::uint16_t epoch, std::uint32_t first_seq, std::uint32_t host_term,
             bool retries = true, bool may_degrade = true);
  void stop(JobState state);

  enum class Find : std::uint8_t { found, none, stale };
  // The chunk of a seq, or none where it is not known.
  Find find(std::uint8_t shard, std::uint32_t seq, Chunk*& chunk);
  // Makes the place of an unknown seq a chunk with a right to memory; nullptr when it gets none.
  // `wanted` says how early it is.
  Chunk* open(std::uint8_t shard, std::uint32_t seq, const aggregator::ChunkDescription& wanted,
              Instant now);
  // A piece to fill for an open chunk, and its joining of the cover. nullptr, or a piece that is
  // covered in part already: the job is broken.
  Piece* take_piece();
  void join(Chunk& chunk, Piece& piece);
  // The newest piece of a chunk is in the one before it now, and no piece of its own any more.
  void absorb_newest(Chunk& chunk);
  // Takes the pieces that overlap `ranks` out of the cover. Returns how many.
  std::uint32_t remove_overlapping(Chunk& chunk, ConstRankSet ranks);
  // Keeps `result`, one of its pieces, and gives the others back.
  void complete(Chunk& chunk, Piece& result);
  // Begins the next attempt: what is held counts no more; the right to memory stays.
  void begin_attempt(Chunk& chunk, std::uint8_t attempt, Instant now);
  // Its wait begins anew.
  void wait_again(Chunk& chunk, Instant now);
  // The root has the result.
  void release(Chunk& chunk);
  // Releases the results of a shard before `seq`.
  void release_before(std::uint8_t shard, std::uint32_t seq);

  // What combines such data; nullptr where nothing is combined, or no such pair exists.
  [[nodiscard]] const aggregator::Kernels* kernels_of(const aggregator::ChunkDescription& d) const {
    return wire::moves_data(d.collective) ? nullptr : kernels_.find(d.dtype, d.reduce_op);
  }
  // Ranks that are not covered, at most out.size() of them; returns how many were written.
  std::size_t missing(const Chunk& chunk, std::span<std::uint32_t> out) const;
  void refresh_gauges();

  [[nodiscard]] const Chunk* first_open() const { return open_; }
  [[nodiscard]] std::uint32_t open_count() const { return open_count_; }
  [[nodiscard]] std::uint64_t memory_bytes() const;

  const JobLimits limits;
  JobState state = JobState::idle;
  std::uint16_t epoch = 0;
  std::uint32_t host_term = 0;
  bool float_retry = false;  // the epoch has a second attempt (rule 12)
  bool degrades = false;     // results of the epoch may lack ranks (rule 21)
  bool broken = false;       // an invariant is: the epoch has to end, and nothing is said of it
  DeadlineQueue deadlines;
  AbortCause last_abort;
  Model* model = nullptr;  // none: nothing that concerns a model can be answered
  JobCounters counters;
  const DeclaredOrder order;
  // Scratch of the call under way: rank sets, pieces at their positions, sums.
  std::vector<std::uint64_t> ranks;
  std::vector<std::uint64_t> lost;
  std::vector<Piece*> at;  // by position
  std::vector<const void*> sources;
  std::vector<std::byte> accumulator_memory;
  std::vector<std::byte*> accumulators;

 private:
  [[nodiscard]] Chunk& place_of(std::uint8_t shard, std::uint32_t seq) {
    const std::size_t ring = std::size_t{2} * limits.window;
    return chunks_[shard * ring + (seq & (ring - 1))];
  }
  [[nodiscard]] bool make_room(const aggregator::ChunkDescription& wanted);
  void link_open(Chunk& chunk);
  void unlink_open(Chunk& chunk);
  void drop_pieces(Chunk& chunk);
  void give_back(Piece* piece) {
    if (!pool_.give_back(piece)) broken = true;
  }
  void forget(Chunk& chunk);

  aggregator::KernelTable kernels_;
  PiecePool pool_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint64_t> covered_;
  std::vector<std::uint32_t> newest_;  // by shard: every seq 2W and more before it is over
  Chunk* open_ = nullptr;
  std::uint32_t open_count_ = 0;
  std::size_t promised_ = 0;  // pieces that open chunks and kept results have a right to
};

}  // namespace tributary::completion
