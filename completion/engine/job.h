// One job inside the completion engine: its chunks, the pieces they hold, and the memory rights.
// Internal to the completion folder.
//
// Each (job, shard) has a ring of 2W chunks, as at a switch: a rank that sends seq s holds all
// results up to s − W, so all ranks hold those up to s − 2W, and s may take their place.
//
// Memory: a chunk is opened only with a right to one piece for each rank, so every open chunk can
// be finished. When no right is left, an earlier chunk takes it from the latest one. So the
// earliest unfinished chunk of the job always progresses, and with it every rank that waits for it.
#pragma once

#include <algorithm>
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

// Why this engine asked for the end of the epoch; sent again to nodes that have missed it.
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
  // The ranks of the epoch that begins: at most limits.workers.
  void resize(std::uint32_t workers) { workers_ = std::min(workers, limits.workers); }
  [[nodiscard]] std::uint32_t workers() const { return workers_; }

  enum class Find : std::uint8_t { found, none, stale };
  // Finds the chunk of a seq; none if it is not known.
  Find find(std::uint8_t shard, std::uint32_t seq, Chunk*& chunk);
  // Makes the entry of an unknown seq a chunk with a right to memory; nullptr if it gets none.
  // `wanted` says how early the chunk is.
  Chunk* open(std::uint8_t shard, std::uint32_t seq, const aggregator::ChunkDescription& wanted,
              Instant now);
  // Takes a piece to fill for an open chunk, and joins it to the cover. If take_piece() returns
  // nullptr, or the piece is covered in part already, the job is broken.
  Piece* take_piece();
  void join(Chunk& chunk, Piece& piece);
  // The newest piece of a chunk was added to the one before it, and is not a piece any more.
  void absorb_newest(Chunk& chunk);
  // Takes the pieces that overlap `ranks` out of the cover. Returns how many.
  std::uint32_t remove_overlapping(Chunk& chunk, ConstRankSet ranks);
  // Keeps `result`, one of the chunk's pieces, and returns the others.
  void complete(Chunk& chunk, Piece& result);
  // Begins the next attempt: held pieces do not count any more; the right to memory stays.
  void begin_attempt(Chunk& chunk, std::uint8_t attempt, Instant now);
  // Starts the chunk's wait anew.
  void wait_again(Chunk& chunk, Instant now);
  // The root has the result.
  void release(Chunk& chunk);
  // Releases the results of a shard before `seq`.
  void release_before(std::uint8_t shard, std::uint32_t seq);

  // The kernels for such data; nullptr if it is not combined, or there is no such pair.
  [[nodiscard]] const aggregator::Kernels* kernels_of(const aggregator::ChunkDescription& d) const {
    return wire::moves_data(d.collective) ? nullptr : kernels_.find(d.dtype, d.reduce_op);
  }
  // The ranks that are not covered, at most out.size() of them; returns how many were written.
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
  bool broken = false;       // an invariant broke: the epoch must end, and no result of it is sent
  DeadlineQueue deadlines;
  AbortCause last_abort;
  Model* model = nullptr;  // nullptr: ops on a model cannot be answered
  JobCounters counters;
  const DeclaredOrder order;
  // Scratch of the current call: rank sets, pieces at their positions, sums.
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

  std::uint32_t workers_;
  aggregator::KernelTable kernels_;
  PiecePool pool_;
  std::vector<Chunk> chunks_;
  std::vector<std::uint64_t> covered_;
  std::vector<std::uint32_t> newest_;  // by shard: every seq 2W or more before it is over
  Chunk* open_ = nullptr;
  std::uint32_t open_count_ = 0;
  std::size_t promised_ = 0;  // pieces that open chunks and kept results have a right to
};

}  // namespace tributary::completion
