// The switches that a communicator has joined: one, or several that share the work (A2).
//
// If there are several, each has a Progress, with a transport, sessions and a thread of its own,
// and gets a shard of every op: a run of consecutive chunks of every part. So a chunk, and the bits
// of its floats, are the same as on one switch. Shard i of all ranks goes to the same switch. An op
// of one chunk is one shard; such ops take turns (first_switch()). A barrier is on all switches.
// Ops on a model are on the first.
//
// If address bits choose (options.address_bits), a switch's shard has the chunks that begin in its
// blocks (worker/layout/address_bits.h). Then the first switch has a shard of every op, be it an
// empty one: there, ranks meet whose addresses differ.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/api/progress.h"
#include "worker/api/sharded_op.h"
#include "worker/transport/staged_transport.h"

namespace tributary::worker {

// Distinguishes this incarnation of a rank, or of its hosted engines, from earlier ones.
std::uint64_t random_nonce();

class Switches {
 public:
  // Joins the job on all of options.address, and waits for all ranks. Throws like
  // Communicator::create().
  explicit Switches(const CommunicatorOptions& options);

  // How the elements of an op are sent.
  struct Travel {
    bool block_scaled = false;
    std::optional<std::int32_t> exponent;
    bool is_list = false;  // of arrays: where they are packed chooses nothing
  };
  // Any thread. Cuts the op, reserves its memory and starts it; `whole` ends with it. Throws
  // std::invalid_argument if the memory is in use.
  void start(const std::shared_ptr<Request::State>& whole, const Op& op, const CallMemory& memory,
             const Travel& travel);

  // For one at a time, on every rank between the same two ops. Waits. Returns false if this rank is
  // not in the job any more. Throws std::invalid_argument if the job cannot have so many ranks, or
  // they are never changed; CommunicatorError if the ranks do not agree, or some did not come.
  bool resize(std::uint32_t size);
  // Throws CommunicatorError if this rank has left by resize(). Calls are cut by rank and size.
  void check_member() const;
  [[nodiscard]] std::uint32_t size() const { return size_.load(std::memory_order_relaxed); }

  // Any thread. A put or get, at the first switch.
  void start(NameCalls::Call call) { all_.front()->submit(std::move(call)); }
  bool wait_for(const NameCall& call, Duration limit) const {
    return all_.front()->names().wait_for(call, limit);
  }

  // From the first switch.
  [[nodiscard]] wire::StartInfo start_info() const { return all_.front()->agreed().info; }
  [[nodiscard]] std::uint16_t epoch() const { return all_.front()->epoch(); }
  [[nodiscard]] std::uint16_t run_number() const { return all_.front()->run_number(); }
  // Over all switches together.
  [[nodiscard]] CommunicatorStats stats() const;
  [[nodiscard]] CommunicatorStages stages() const;
  // In a forked child: gives up all of them.
  void abandon();

 private:
  using State = std::shared_ptr<Request::State>;
  struct Shard {
    std::size_t at = 0;  // its switch
    State state;
  };

  void check_resize() const;
  void wait_for_vote(Request::State& vote, Progress& progress) const;
  void join();
  void agree();
  void split_for(Progress& progress, const Op& op, const Travel& travel,
                 Request::State& state) const;
  void clear_unless_root(const Op& op) const;
  void start_sharded(const State& whole, const Op& op, const CallMemory& memory,
                     const Travel& travel);
  [[nodiscard]] std::vector<Shard> cut(const Op& op, const Travel& travel) const;
  [[nodiscard]] std::vector<Shard> cut_by_address(const Op& op, const Travel& travel,
                                                  const Op& undivided) const;

  const CommunicatorOptions options_;
  std::atomic<std::uint32_t> size_;  // of the job, now
  std::atomic<bool> has_models_{false};
  SharedMemory memory_;       // of ops on several switches
  mutable std::mutex order_;  // ops are numbered and submitted in one order on all switches
  std::uint32_t next_op_ = 0;
  std::vector<std::shared_ptr<StageCounters>> stages_;  // of options_.stages, of each in all_
  std::vector<std::unique_ptr<Progress>> all_;
};

}  // namespace tributary::worker
