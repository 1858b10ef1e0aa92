// An op whose array is cut into shards, each summed by a switch of its own (A2).
//
//   caller's Request ─▶ whole ◀─ last shard ─ ShardedOp ◀─ shard 0, shard 1, ... (a Progress each)
//
// Every switch has a Progress with a thread, so shards end on different threads; the last one that
// ends completes the whole op there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "worker/api/open_memory.h"
#include "worker/api/request_state.h"

namespace tributary::worker {

// The memory of a communicator's ops in flight, shared by the threads of several switches.
class SharedMemory {
 public:
  // Like OpenMemory's.
  OpenMemory::Claim claim(const CallMemory& memory) {
    const std::lock_guard lock(mutex_);
    return open_.claim(memory);
  }
  void release(const OpenMemory::Claim& claim) {
    const std::lock_guard lock(mutex_);
    open_.release(claim);
  }

 private:
  std::mutex mutex_;
  OpenMemory open_;
};

class ShardedOp {
 public:
  // Called with the cause that ended a switch's epoch; the other epochs must end, too. Any thread.
  using OnEnd = std::function<void(const Failure&, const std::string& address)>;

  // `whole` has claimed its memory from `memory`, which outlives the op.
  ShardedOp(std::shared_ptr<Request::State> whole, SharedMemory& memory, OnEnd on_end)
      : whole_(std::move(whole)), memory_(memory), on_end_(std::move(on_end)) {}

  // Call it before any shard is submitted, with the number of shards.
  void expect(std::size_t shards) { open_ = shards; }
  // Any thread, once for each shard, when it is done. `address` is its switch's; error texts name
  // it. The last call completes the op.
  void finish(Request::State& shard, const std::string& address);

 private:
  std::shared_ptr<Request::State> whole_;
  SharedMemory& memory_;
  OnEnd on_end_;
  std::mutex mutex_;
  std::size_t open_ = 0;
};

// The switch for the first shard of op `number`; the next shards follow in the list. Small ops have
// one shard, so they take turns over the switches.
constexpr std::size_t first_switch(std::uint32_t number, std::size_t switches) {
  return number % switches;
}

}  // namespace tributary::worker
