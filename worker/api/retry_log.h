// A rank's record of its ops, so that they can be done again in another epoch after one that ended
// unannounced (docs/protocol/retry.md).
//
//   begin() ─▶ open ─▶ finished() ─▶ done ─deliver(): in order─▶ kept ─▶ all ranks have it: gone
//                 ▲       │ epoch lost │
//                 └───────┴────────────┘
//
// An op that overwrites its input keeps a copy of that from begin() on. After deliver() the caller
// may use all memory of the op: what another rank may still need of it is then in the copy. So an
// op holds at most one copy: of its input, or of its result, where the sum of floats depends on the
// order, or a model has given it.
//
// When is an op known to be everywhere? A rank sends seq s of a shard only when it holds all
// results up to s − W (rule 2). So a result that all ranks have sent data for says that all of them
// hold what was W chunks before. And no rank has more than `kMaxOpenOps` ops open: further ones
// wait to begin.
//
// Belongs to the progress thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/wire/extension.h"
#include "worker/api/plane_parts.h"
#include "worker/api/request_state.h"

namespace tributary::worker {

// Ops that have begun and are not delivered, at most.
inline constexpr std::size_t kMaxOpenOps = 4096;

class RetryLog {
 public:
  using State = std::shared_ptr<Request::State>;

  // Copies of delivered ops that take more than `most_bytes` are given up, the oldest first.
  RetryLog(std::uint32_t rank, std::uint32_t ranks, std::size_t most_bytes)
      : rank_(rank), ranks_(ranks), most_bytes_(most_bytes) {}

  // An epoch begins. `all_hold`: every rank has the results of all ops that were delivered here.
  void start(const wire::StartInfo& info, bool all_hold);
  // No op may begin before another one is delivered.
  [[nodiscard]] bool is_full() const { return end_ - held_ >= kMaxOpenOps; }
  // The op's parts are about to go to the sessions.
  void begin(const State& op);
  // All parts have finished; the op's failure, if it has one, is its own.
  void finished(const Request::State& op);
  // Moves ops that are done, and all before which are done, to `ended`, with their results where
  // the caller wants them.
  void deliver(std::vector<State>& ended);
  // The open ops fail, for the cause that their parts have, or this one.
  void fail(const Failure& cause, std::uint32_t job);

  // Ops are numbered from 0, equally on all ranks. The first without a delivered result here:
  [[nodiscard]] std::uint64_t held() const { return held_; }
  // The first that could still be done again here.
  [[nodiscard]] std::uint64_t first() const { return end() - entries_.size(); }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  // The first of those whose result this rank can give to others.
  [[nodiscard]] std::uint64_t repeatable() const { return std::max(first(), repeatable_); }
  // An op on a model has begun.
  [[nodiscard]] bool has_models() const { return has_models_; }
  // True for an op on a model; of those that can still be done again.
  [[nodiscard]] bool concerns_model(std::uint64_t number) {
    return wire::concerns_model(at(number).called.op.collective);
  }
  // Counts what the ops before one in [first(), end()] were to the first plane's session. A
  // block-scaled one whose exponents are exchanged is two.
  [[nodiscard]] std::uint64_t switch_ops_before(std::uint64_t number) {
    return number == end_ ? switch_ops_ : at(number).switch_ops_before;
  }
  [[nodiscard]] std::size_t copied_bytes() const { return copied_bytes_; }

  // The epoch was lost: what was not delivered is open.
  void lose_epoch();
  // After that:
  // An op in [first(), end()) that some rank has and others lack, to be cut and submitted; `holder`
  // is the lowest rank that has it. Where this one lacks it, it gets the result.
  [[nodiscard]] CalledOp again(std::uint64_t number, std::uint32_t holder,
                               std::unique_ptr<std::byte[]>& scratch);
  // That op is done.
  void done_again(std::uint64_t number, std::optional<Failure> failure);
  // The op is open; its input is as it was called, and it may be submitted.
  [[nodiscard]] State reopen(std::uint64_t number, const wire::StartInfo& info);

 private:
  struct Entry {
    State state;  // until it is delivered
    CalledOp called;
    std::unique_ptr<std::byte[]> copy;
    std::size_t copy_bytes = 0;
    std::uint64_t switch_ops_before = 0;
    bool done = false;
    bool earlier = false;  // of an epoch before this one
    // By plane and shard: all ranks have the op when that many chunks have been summed.
    std::vector<std::uint64_t> known_at;
  };

  Entry& at(std::uint64_t number) { return entries_[number - first()]; }
  void copy(Entry& entry, const std::byte* from, std::size_t bytes);
  void keep(Entry& entry);
  void count(Entry& entry);
  [[nodiscard]] bool is_known(const Entry& entry) const;
  void forget();
  void pop();
  [[nodiscard]] std::size_t input_bytes(const Op& op) const;

  const std::uint32_t rank_;
  const std::uint32_t ranks_;
  const std::size_t most_bytes_;
  std::deque<Entry> entries_;
  std::uint64_t held_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t switch_ops_ = 0;  // of all ops before end_
  std::size_t copied_bytes_ = 0;
  std::size_t kept_bytes_ = 0;  // of these, copies of delivered ops
  std::uint64_t repeatable_ = 0;
  bool has_models_ = false;
  std::uint32_t shards_ = 1;
  std::uint32_t window_ = 1;
  std::vector<std::uint64_t> summed_;  // by plane and shard: chunks that all ranks have sent
};

}  // namespace tributary::worker
