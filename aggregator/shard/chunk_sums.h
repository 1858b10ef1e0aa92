// The data of a shard's chunks: sums, held contributions, results, and their buffers.
//
//   streaming  the first contribution opens the sum, each further one is folded in
//   in order   a contribution is folded in when its turn in the declared order comes; earlier ones
//              are held
//   collect    all are held, then combined in one pass
//
// It decides nothing: Shard says which contribution counts. If a pool breaks an invariant, the job
// is broken and must end its epoch. Allocates in reserve() only. Owner: one Shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "aggregator/chunk/fold_queue.h"
#include "aggregator/chunk/released_buffers.h"
#include "aggregator/shard/shard_job.h"

namespace tributary::aggregator {

class ChunkSums {
 public:
  // The part whose size depends on the jobs.
  struct Room {
    ReleasedBuffers released;
    std::vector<const void*> sources;  // data of one chunk, by position

    void reserve_fan_in(std::size_t children) {
      if (children > sources.size()) sources.resize(children);
    }
  };

  [[nodiscard]] Room& room() { return room_; }
  // Swaps; no buffer may wait for its release.
  void exchange(Room& other) {
    room_.released.exchange(other.released);
    std::swap(room_.sources, other.sources);
  }
  // Accumulators of inner brackets: as many as brackets may be nested.
  void use_for_brackets(std::vector<std::byte*> values) { bracket_values_ = std::move(values); }

  // Between the two, sums may be computed later than they are decided (fold_queue.h).
  void begin_burst() { folds_.begin(); }
  void end_burst() { folds_.end(); }

  // Takes a contribution into the chunk's sum, or holds it for its turn.
  void add(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels);
  // A fold that is known to be next: a worker's data of a chunk that needs no order.
  void add(const Fold& fold) { folds_.add(fold); }
  // The payload becomes the result unchanged.
  void store(ShardJob& job, ChunkEntry& e, std::span<const std::byte> payload);

  // Computes the delayed sums, of one chunk or of all.
  void settle(const ChunkEntry& e) { folds_.settle(e); }
  void settle() { folds_.settle(); }

  // Messages may still refer to the buffers (released_buffers.h).
  void release_sum(ShardJob& job, ChunkEntry& e) { release(job, job.buffers, e.buffer); }
  void release(ShardJob& job, ChunkEntry& e);  // sum and held data
  void drop_held(ShardJob& job, const ChunkEntry& e);
  // Takes back the buffers that no message refers to any more.
  void reclaim() { room_.released.settle(); }
  void reclaim_heard() { room_.released.settle_heard(); }

  // True once after a job broke.
  bool take_broke() { return std::exchange(broke_, false); }
  [[nodiscard]] std::size_t table_bytes() const {
    return room_.released.table_bytes() + room_.sources.capacity() * sizeof(void*) +
           bracket_values_.capacity() * sizeof(void*);
  }

 private:
  void fold(ShardJob& job, ChunkEntry& e, std::uint16_t child, const std::byte* data,
            const Kernels& kernels);
  void fold_in_order(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels);
  void collect(ShardJob& job, ChunkEntry& e, const Contribution& c, const Kernels& kernels);
  void hold(ShardJob& job, ChunkEntry& e, const Contribution& c);
  bool take_buffer(ShardJob& job, ChunkEntry& e);
  void release(ShardJob& job, BufferPool& pool, std::uint32_t& buffer);
  [[gnu::cold]] void break_off(ShardJob& job);

  FoldQueue folds_;
  Room room_;
  std::vector<std::byte*> bracket_values_;
  bool broke_ = false;
};

}  // namespace tributary::aggregator
