// One collective call of this rank, and the queue of those not finished yet.
//
//   submitted ─▶ queued ─▶ (chunks in flight) ─▶ finished: `failure` set, or data holds the sum
//
// The caller fills the first block and keeps op and data alive until Session::take_finished()
// returns it; the session owns the rest meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/wire/types.h"
#include "worker/failure.h"

namespace tributary::worker {

struct Op {
  std::byte* data = nullptr;  // in place; count elements
  std::size_t count = 0;
  wire::DType dtype = wire::DType::none;
  wire::ReduceOp reduce_op = wire::ReduceOp::sum;
  wire::Collective collective = wire::Collective::allreduce;

  std::uint32_t id = 0;                  // counts submissions since START
  std::uint32_t chunks = 0;              // at least one, so that an empty op is seen by all
  std::uint32_t remaining = 0;           // results to come
  std::uint32_t elements_per_chunk = 0;  // of every chunk but the last
  std::optional<Failure> failure;        // set before it is finished, if it failed
  Op* next = nullptr;
  Op* previous = nullptr;

  // Elements of one chunk, in place.
  [[nodiscard]] std::size_t elements_of(std::uint32_t chunk) const {
    const std::size_t begin = std::size_t{chunk} * elements_per_chunk;
    return count - begin < elements_per_chunk ? count - begin : elements_per_chunk;
  }
  [[nodiscard]] std::span<std::byte> bytes_of(std::uint32_t chunk) const {
    const std::size_t size = wire::size_of(dtype);
    if (size == 0) return {};
    return {data + std::size_t{chunk} * elements_per_chunk * size, elements_of(chunk) * size};
  }
};

// What this version's switch can sum; a test compares it with the reduction kernels.
constexpr bool is_supported(wire::DType dtype, wire::ReduceOp op) {
  return op == wire::ReduceOp::sum &&
         (dtype == wire::DType::int32 || dtype == wire::DType::float32);
}

// Intrusive doubly-linked FIFO; an op is in at most one.
class OpQueue {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Op* front() const { return head_; }

  void push_back(Op& op) {
    op.next = nullptr;
    op.previous = tail_;
    (tail_ != nullptr ? tail_->next : head_) = &op;
    tail_ = &op;
  }
  void remove(Op& op) {
    (op.previous != nullptr ? op.previous->next : head_) = op.next;
    (op.next != nullptr ? op.next->previous : tail_) = op.previous;
    op.next = op.previous = nullptr;
  }
  Op* pop_front() {
    Op* op = head_;
    if (op != nullptr) remove(*op);
    return op;
  }

 private:
  Op* head_ = nullptr;
  Op* tail_ = nullptr;
};

}  // namespace tributary::worker
