#include "completion/engine/job.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/invariant.h"
#include "core/seq.h"

namespace tributary::completion {
namespace {

const JobLimits& checked(const JobLimits& limits) {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument("completion engine, job " + std::to_string(limits.id) + ": " +
                                what);
  };
  if (limits.workers == 0 || limits.shards == 0) refuse("needs workers and shards");
  if (limits.window == 0 || (limits.window & (limits.window - 1)) != 0)
    refuse("window " + std::to_string(limits.window) + " is not a power of two");
  if (limits.bytes < least_bytes(limits))
    refuse("has " + std::to_string(limits.bytes) + " bytes; one chunk of " +
           std::to_string(limits.workers) + " pieces and the results that may be asked for need " +
           std::to_string(least_bytes(limits)));
  if (limits.degraded_after != Duration::max() &&
      (limits.deadline != Duration::max() || limits.order == wire::Order::reproducible))
    refuse("results without late ranks go with no deadline and no declared order");
  return limits;
}

std::size_t pieces_of(const JobLimits& limits) {
  const std::uint64_t bytes = std::min(limits.bytes, most_bytes(limits));
  return static_cast<std::size_t>(bytes / std::max<std::uint64_t>(buffer_bytes(limits), 1));
}

}  // namespace

Job::Job(const JobLimits& job_limits)
    : limits(checked(job_limits)),
      deadlines(std::min(limits.deadline, limits.degraded_after)),
      order(limits.bracketing, limits.workers),
      ranks(wire::rank_words(limits.workers)),
      lost(ranks.size()),
      at(limits.workers),
      sources(limits.workers),
      accumulator_memory(order.depth() * buffer_bytes(limits) * kWidestAccumulator),
      workers_(limits.workers),
      kernels_(limits.arithmetic),
      pool_(pieces_of(limits), buffer_bytes(limits), ranks.size()),
      chunks_(std::size_t{2} * limits.window * limits.shards),
      covered_(chunks_.size() * ranks.size()),
      newest_(limits.shards) {
  for (std::size_t i = 0; i < order.depth(); ++i)
    accumulators.push_back(accumulator_memory.data() +
                           i * buffer_bytes(limits) * kWidestAccumulator);
  last_abort.missing.reserve(wire::kMaxMissingIds);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    chunks_[i].shard = static_cast<std::uint8_t>(i / (std::size_t{2} * limits.window));
    chunks_[i].covered = std::span(covered_).subspan(i * ranks.size(), ranks.size());
  }
}

void Job::start(std::uint16_t new_epoch, std::uint32_t first_seq, std::uint32_t term, bool retries,
                bool may_degrade) {
  stop(JobState::running);
  epoch = new_epoch;
  host_term = term;
  float_retry = limits.float_retry && retries;
  degrades = limits.degraded_after != Duration::max() && may_degrade;
  std::fill(newest_.begin(), newest_.end(), first_seq + 2 * limits.window - 1);
}

void Job::stop(JobState next) {
  for (Chunk& chunk : chunks_) forget(chunk);
  state = next;
  if (!TRIBUTARY_INVARIANT_HOLDS(promised_ == 0 && pool_.taken() == 0 && open_count_ == 0)) {
    pool_.reset();
    promised_ = open_count_ = 0;
    open_ = nullptr;
  }
  broken = false;
  refresh_gauges();
}

Job::Find Job::find(std::uint8_t shard, std::uint32_t seq, Chunk*& chunk) {
  Chunk& place = place_of(shard, seq);
  if (seq_diff(newest_[shard], seq) >= static_cast<std::int32_t>(2 * limits.window))
    return Find::stale;
  if (place.state == ChunkState::unseen || place.seq != seq) return Find::none;
  chunk = &place;
  return Find::found;
}

Chunk* Job::open(std::uint8_t shard, std::uint32_t seq, const aggregator::ChunkDescription& wanted,
                 Instant now) {
  Chunk& chunk = place_of(shard, seq);
  if (seq_before(newest_[shard], seq)) newest_[shard] = seq;
  if (chunk.state == ChunkState::open) counters.given_up.add();
  forget(chunk);
  if (!make_room(wanted)) return nullptr;

  promised_ += limits.workers;
  chunk.state = ChunkState::open;
  chunk.given_up = false;
  chunk.seq = seq;
  chunk.description = aggregator::ChunkDescription();
  chunk.description.op = wanted.op;
  chunk.description.chunk = wanted.chunk;
  deadlines.arm(chunk, now);
  link_open(chunk);
  return &chunk;
}

bool Job::make_room(const aggregator::ChunkDescription& wanted) {
  while (promised_ + limits.workers > pool_.size()) {
    Chunk* latest = nullptr;
    for (Chunk* c = open_; c != nullptr; c = c->next_open)
      if (is_earlier(wanted, c->description) &&
          (latest == nullptr || is_earlier(latest->description, c->description)))
        latest = c;
    if (latest == nullptr) return false;
    counters.given_up.add();
    forget(*latest);
  }
  return true;
}

// Pieces are disjoint, so a chunk never needs more than its promised number.
Piece* Job::take_piece() {
  Piece* const piece = pool_.take();
  if (!TRIBUTARY_INVARIANT_HOLDS(piece != nullptr)) broken = true;
  return piece;
}

void Job::join(Chunk& chunk, Piece& piece) {
  if (!TRIBUTARY_INVARIANT_HOLDS(!overlap(chunk.covered, piece.ranks))) {
    broken = true;
    return give_back(&piece);
  }
  piece.count = count(piece.ranks);
  piece.first =
      limits.order == wire::Order::fast ? lowest(piece.ranks) : order.position_of(piece.ranks);
  piece.next = chunk.pieces;
  chunk.pieces = &piece;
  unite(chunk.covered, piece.ranks);
  chunk.covered_count += piece.count;
  ++chunk.piece_count;
  if (!TRIBUTARY_INVARIANT_HOLDS(chunk.covered_count == count(chunk.covered))) broken = true;
  const std::uint64_t held = pool_.taken() * buffer_bytes(limits);
  counters.bytes_held.set(held);
  counters.bytes_high_water.raise_to(held);
}

void Job::absorb_newest(Chunk& chunk) {
  Piece& newest = *chunk.pieces;
  Piece& sum = *newest.next;
  unite(sum.ranks, newest.ranks);
  sum.count += newest.count;
  sum.first = std::min(sum.first, newest.first);
  chunk.pieces = &sum;
  --chunk.piece_count;
  give_back(&newest);
  counters.combined_early.add();
  refresh_gauges();
}

std::uint32_t Job::remove_overlapping(Chunk& chunk, ConstRankSet wanted) {
  std::uint32_t removed = 0;
  for (Piece** link = &chunk.pieces; *link != nullptr;) {
    Piece* piece = *link;
    if (!overlap(piece->ranks, wanted)) {
      link = &piece->next;
      continue;
    }
    *link = piece->next;
    subtract(chunk.covered, piece->ranks);
    chunk.covered_count -= piece->count;
    --chunk.piece_count;
    give_back(piece);
    ++removed;
  }
  return removed;
}

void Job::complete(Chunk& chunk, Piece& result) {
  for (Piece* piece = chunk.pieces; piece != nullptr;) {
    Piece* next = piece->next;
    if (piece != &result) give_back(piece);
    piece = next;
  }
  result.next = nullptr;
  chunk.pieces = &result;
  chunk.piece_count = 1;
  chunk.state = ChunkState::complete;
  promised_ -= limits.workers - 1;
  DeadlineQueue::cancel(chunk);
  unlink_open(chunk);
}

void Job::begin_attempt(Chunk& chunk, std::uint8_t attempt, Instant now) {
  if (!TRIBUTARY_INVARIANT_HOLDS(chunk.state == ChunkState::open)) {
    broken = true;
    return;
  }
  drop_pieces(chunk);
  clear(chunk.covered);
  chunk.covered_count = 0;
  chunk.attempt = attempt;
  chunk.description = aggregator::as_float(chunk.description);
  wait_again(chunk, now);
}

void Job::wait_again(Chunk& chunk, Instant now) {
  DeadlineQueue::cancel(chunk);
  deadlines.arm(chunk, now);
}

void Job::release(Chunk& chunk) {
  if (!TRIBUTARY_INVARIANT_HOLDS(chunk.state == ChunkState::complete)) {
    broken = true;
    return;
  }
  drop_pieces(chunk);
  chunk.state = ChunkState::released;
  --promised_;
}

void Job::release_before(std::uint8_t shard, std::uint32_t seq) {
  const std::size_t ring = std::size_t{2} * limits.window;
  for (Chunk& chunk : std::span(chunks_).subspan(shard * ring, ring)) {
    if (!seq_before(chunk.seq, seq)) continue;
    if (chunk.state == ChunkState::complete) release(chunk);
    // A late copy opened a chunk that another host has finished.
    if (chunk.state == ChunkState::open) forget(chunk);
  }
  // However long no chunk was escalated: the next one must not be taken for an old one.
  const std::uint32_t newest = seq + 2 * limits.window - 1;
  if (seq_before(newest_[shard], newest)) newest_[shard] = newest;
}

std::size_t Job::missing(const Chunk& chunk, std::span<std::uint32_t> out) const {
  std::size_t written = 0;
  if (chunk.covered_count >= required_ranks(chunk, workers_)) return 0;
  for (std::uint32_t rank = 0; rank < workers_ && written < out.size(); ++rank)
    if (!contains(chunk.covered, rank)) out[written++] = rank;
  return written;
}

void Job::refresh_gauges() {
  counters.chunks_open.set(open_count_);
  counters.bytes_held.set(pool_.taken() * buffer_bytes(limits));
}

std::uint64_t Job::memory_bytes() const {
  return pool_.memory_bytes() + chunks_.size() * sizeof(Chunk) +
         covered_.size() * sizeof(std::uint64_t) + accumulator_memory.size() +
         at.size() * 2 * sizeof(void*);
}

void Job::link_open(Chunk& chunk) {
  chunk.previous_open = nullptr;
  chunk.next_open = open_;
  if (open_ != nullptr) open_->previous_open = &chunk;
  open_ = &chunk;
  ++open_count_;
}

void Job::unlink_open(Chunk& chunk) {
  (chunk.previous_open == nullptr ? open_ : chunk.previous_open->next_open) = chunk.next_open;
  if (chunk.next_open != nullptr) chunk.next_open->previous_open = chunk.previous_open;
  chunk.previous_open = chunk.next_open = nullptr;
  --open_count_;
}

void Job::drop_pieces(Chunk& chunk) {
  for (Piece* piece = chunk.pieces; piece != nullptr;) {
    Piece* next = piece->next;
    give_back(piece);
    piece = next;
  }
  chunk.pieces = nullptr;
  chunk.piece_count = 0;
}

// Resets the chunk to unseen, whatever its state; frees its pieces.
void Job::forget(Chunk& chunk) {
  if (chunk.state == ChunkState::open) {
    promised_ -= limits.workers;
    unlink_open(chunk);
    DeadlineQueue::cancel(chunk);
  } else if (chunk.state == ChunkState::complete) {
    --promised_;
  }
  drop_pieces(chunk);
  clear(chunk.covered);
  chunk.covered_count = 0;
  chunk.state = ChunkState::unseen;
  chunk.reason = wire::Reason::none;
  chunk.described = chunk.overflow = false;
  chunk.attempt = 0;
  chunk.flags = 0;
}

}  // namespace tributary::completion
