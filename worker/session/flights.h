// A rank's chunks in flight, and which of them to ask about when their results do not come (rule
// 6): as rarely as possible and as soon as useful.
//
// - Lost in the middle of a stream: every rank sends a shard's chunks in order, so a result of
//   data sent later shows that an earlier one is lost, or was overtaken on the way. The overtaken
//   chunk is probed a little later, long before any timeout.
// - Lost at the end of it, or a rank is late: no result comes to a shard for the retransmission
//   timeout. Its oldest chunk alone is probed. PENDING makes the next probe wait for a quarter of
//   the time waited so far, so a straggler is asked about seldom, and a result that is lost after
//   a long wait costs a quarter more. Any other answer makes all that was sent before suspect.
// - A probe that is not answered is repeated, ever more rarely.
// - With groups (O5), the first two apply to groups of consecutive chunks: results that overtake
//   others within a group show nothing until its last one has come. Then all that the group lacks
//   is probed together, as is what the oldest group lacks after a silence.
//
// Pure, and without allocation after start(). It moves chunks between the phases of window.h; the
// session decides what a packet means and what is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"
#include "worker/session/retransmission.h"
#include "worker/session/window.h"

namespace tributary::worker {

class Flights {
 public:
  using Phase = ChunkState::Phase;

  // Every shard begins at seq `first`. `group`: chunks that are checked together (O5), rounded down
  // to a power of two within the window.
  void start(std::uint8_t shards, std::uint32_t window, std::uint32_t first, std::uint32_t group,
             Instant now);
  // No chunk is in flight any more, and none refers to an op.
  void clear();

  [[nodiscard]] std::vector<ShardWindow>& shards() { return shards_; }
  [[nodiscard]] const std::vector<ShardWindow>& shards() const { return shards_; }
  [[nodiscard]] const std::vector<ChunkState>& chunks() const { return chunks_; }
  [[nodiscard]] ChunkState& chunk(ChunkIndex i) { return chunks_[i]; }
  [[nodiscard]] ShardWindow& shard_of(ChunkIndex i) { return shards_[chunks_[i].shard]; }
  [[nodiscard]] ChunkIndex index_of(std::uint8_t shard, std::uint32_t seq) const {
    return shard * window_ + (seq & (window_ - 1));
  }

  // Takes a chunk out of the list of its phase.
  void unlink(ChunkIndex i);
  // The chunk, which must be in no list, now waits for its result.
  void track(ChunkIndex i);
  // The chunk, which must be in no list, is to be sent: take_queued() returns it in its turn.
  void queue(ChunkIndex i);
  // The oldest such chunk, removed from its list; kNoChunk if there is none.
  ChunkIndex take_queued();
  // The chunk, which must be in no list, was asked about at `now`.
  void await_answer(ChunkIndex i, Instant now);
  // The question about it was never sent: it is due again.
  void ask_again(ChunkIndex i);

  // The switch got something sent after `before`, a place in the order of ChunkState::news:
  // chunks of the shard that were sent earlier are overtaken. The group of `spared` is left
  // out.
  void overtake(ShardWindow& shard, std::uint64_t before, Instant now,
                std::optional<std::uint32_t> spared = {});
  // Evaluates what the result of `got` shows about chunks without a result.
  void check_order(ShardWindow& shard, const ChunkState& got, Instant now);
  // A result came, or the shard's oldest chunk was sent.
  static void progress(ShardWindow& shard, Instant now);
  // PENDING about a chunk: its data has arrived. `lacks_room`: the switch has no slot for it.
  void put_off(ChunkIndex i, bool lacks_room, Instant now);

  // A chunk to ask about because others overtook it, or because the last question was not answered;
  // removed from its list. kNoChunk if there is none.
  ChunkIndex take_overdue(Instant now);
  // True if the shard's oldest chunk has had no answer for too long.
  [[nodiscard]] bool is_silent(std::uint8_t s, Instant now) const { return silent_at(s) <= now; }
  // The first chunk to ask about in such a shard from seq `from` on, removed from its list;
  // kNoChunk if the oldest group has no further one.
  ChunkIndex take_silent(std::uint8_t s, std::uint32_t from);
  // The time at which one of these has a chunk to return.
  [[nodiscard]] Instant next_timer() const;

  [[nodiscard]] RetransmissionTimeout& timeout() { return timeout_; }

 private:
  [[nodiscard]] Instant silent_at(std::uint8_t s) const;
  // Groups are only compared.
  [[nodiscard]] std::uint32_t group_of(std::uint32_t seq) const { return seq & ~(group_ - 1); }

  std::uint32_t window_ = 1;
  std::uint32_t group_ = 1;
  std::vector<ChunkState> chunks_;
  std::vector<ShardWindow> shards_;
  ChunkList queued_;
  TimerLists overtaken_;  // a later result passed them on the way, or they are lost
  TimerLists probed_;     // the switch owes an answer
  std::uint64_t next_order_ = 0;
  RetransmissionTimeout timeout_;
};

}  // namespace tributary::worker
