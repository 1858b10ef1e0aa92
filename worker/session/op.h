// One collective call of this rank, its chunks, and the queue of unfinished
// calls.
//
//   submitted ─▶ queued ─▶ (chunks in flight) ─▶ finished: `failure` set, or the result is there
//
// The caller fills the first block and keeps op and memory alive until Session::take_finished()
// returns the op; until then the session owns the rest.
//
// An op's array consists of parts, each cut into chunks separately: one part of `count` elements,
// or for all_gather and reduce_scatter one of `count` elements for each rank, its owner. In a job
// with several planes, an Op is one plane's part of an op: the same elements of every part
// (worker/api/plane_parts.h).
//
//   collective       who sends a chunk   who gets its data      memory
//   allreduce        all                 all                    data, in place
//   reduce           all                 root                   data, in place there
//   reduce_scatter   all                 the part's owner       data: all parts; output: one
//   broadcast        root                all                    data, in place
//   all_gather       the part's owner    all                    data: one part; output: all
//     chunk 0        all                 (no data)              –
//   open, update     all                 all                    data, in place
//   barrier          all                 (no data)              –
//
// Where addresses choose among switches, a switch's op has some chunks of the array alone:
// `places`. Then `count` is that of a whole part, and `data` that of the whole array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/wire/extension.h"
#include "core/wire/types.h"
#include "worker/layout/chunk_places.h"
#include "worker/layout/stated_total.h"
#include "worker/session/failure.h"

namespace tributary::worker {

class BlockScaled;

struct Op {
  std::byte* data = nullptr;    // see the table; never written if it is only sent
  std::byte* output = nullptr;  // all_gather, reduce_scatter
  std::size_t count = 0;        // elements of a part
  std::size_t of_count = 0;     // if this is one plane's part of an op: elements of a whole part
  wire::DType dtype = wire::DType::none;
  wire::ReduceOp reduce_op = wire::ReduceOp::sum;
  wire::Collective collective = wire::Collective::allreduce;
  std::uint32_t root = 0;
  std::uint16_t array = 0;        // open, update: the array of the model, or wire::kModelStep
  BlockScaled* scaled = nullptr;  // encoding block-scaled: makes and takes the elements
  const Op* after = nullptr;      // an earlier op that must end before this one's data is known
  layout::ChunkPlaces places;     // the array's chunks that are this op's
  std::optional<std::uint32_t> address;  // low bits that all ranks' memory has to share

  std::uint32_t id = 0;      // counts submissions since START
  std::uint32_t rank = 0;    // the caller's
  std::uint32_t chunks = 0;  // at least one, so that all ranks see an empty op
  std::uint32_t chunks_per_part = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t remaining = 0;           // results to come
  std::uint32_t elements_per_chunk = 0;  // of every chunk but a part's last
  std::optional<Failure> failure;        // set before it is finished, if it failed
  // For a finished op: bit r mod 64 of word r / 64 for every rank that some chunk's result lacks
  // (rule 21). Empty: every chunk has all ranks.
  std::vector<std::uint64_t> left_out;
  // Those chunks of them whose data this rank gets, and the number of ranks in each.
  struct Lacking {
    std::uint32_t chunk = 0;
    std::uint32_t counted = 0;
  };
  std::vector<Lacking> lacking;
  Op* next = nullptr;
  Op* previous = nullptr;

  [[nodiscard]] bool reduces() const {
    return collective == wire::Collective::allreduce || collective == wire::Collective::reduce ||
           collective == wire::Collective::reduce_scatter || wire::concerns_model(collective);
  }
  // True if one rank alone sends the chunk.
  [[nodiscard]] bool has_one_sender(std::uint32_t chunk) const {
    return wire::moves_data(collective) && chunk >= first_data_chunk();
  }
  [[nodiscard]] bool has_owners() const {
    return collective == wire::Collective::all_gather ||
           collective == wire::Collective::reduce_scatter;
  }
  // Cuts the array into chunks.
  void cut(std::uint32_t own_rank, std::uint32_t ranks, const wire::StartInfo& start) {
    rank = own_rank;
    elements_per_chunk =
        wire::elements_per_chunk(start.chunk_bytes, dtype, reduce_op,
                                 static_cast<wire::Partials>(start.partials), reduces());
    const std::size_t per_part = (count + elements_per_chunk - 1) / elements_per_chunk;
    chunks_per_part = static_cast<std::uint32_t>(std::max<std::size_t>(per_part, 1));
    const std::uint32_t parts = has_owners() ? ranks : 1;
    chunks = per_part == 0 ? 0 : chunks_per_part * parts;
    if (!places.all()) chunks = static_cast<std::uint32_t>(places.size());
    chunks = remaining = std::max<std::uint32_t>(chunks + first_data_chunk(), 1);
  }
  // Elements of a part of the caller's array; parts follow each other.
  [[nodiscard]] std::size_t whole_count() const { return of_count == 0 ? count : of_count; }
  [[nodiscard]] std::size_t total(std::uint32_t ranks) const {
    return has_owners() ? whole_count() * ranks : whole_count();
  }
  [[nodiscard]] std::uint64_t stated_total(std::uint32_t ranks) const {
    return layout::number_of({total(ranks), address});
  }

  // About one chunk:
  [[nodiscard]] std::uint32_t owner_of(std::uint32_t chunk) const {
    return place_of(chunk) / chunks_per_part;
  }
  [[nodiscard]] std::size_t elements_of(std::uint32_t chunk) const {
    if (chunk < first_data_chunk() || places.none()) return 0;
    return std::min<std::size_t>(count - begin_of(chunk), elements_per_chunk);
  }
  [[nodiscard]] bool contributes(std::uint32_t chunk) const {
    return !has_one_sender(chunk) || sender_of(chunk) == rank;
  }
  // Only if the chunk has one sender.
  [[nodiscard]] std::uint32_t sender_of(std::uint32_t chunk) const {
    return collective == wire::Collective::broadcast ? root : owner_of(chunk);
  }
  // The rank that alone gets the data; nullopt if all do, or there is none.
  [[nodiscard]] std::optional<std::uint32_t> target_of(std::uint32_t chunk) const {
    if (collective == wire::Collective::reduce) return root;
    if (collective == wire::Collective::reduce_scatter) return owner_of(chunk);
    return std::nullopt;
  }
  [[nodiscard]] bool receives(std::uint32_t chunk) const {
    return target_of(chunk).value_or(rank) == rank;
  }
  // The chunk's first element in its part.
  [[nodiscard]] std::size_t begin_of(std::uint32_t chunk) const {
    return std::size_t{place_of(chunk) % chunks_per_part} * elements_per_chunk;
  }
  // The data of the chunk that this rank sends, if it contributes.
  [[nodiscard]] std::span<const std::byte> input_of(std::uint32_t chunk) const {
    const bool whole = collective != wire::Collective::all_gather;
    return at(data, chunk, whole);
  }
  // The destination of the chunk's data, if this rank receives it.
  [[nodiscard]] std::span<std::byte> output_of(std::uint32_t chunk) const {
    const bool whole = collective != wire::Collective::reduce_scatter;
    return at(has_owners() ? output : data, chunk, whole);
  }

 private:
  // Chunks before it carry no data: the ranks' agreement.
  [[nodiscard]] std::uint32_t first_data_chunk() const { return wire::moves_data(collective); }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t chunk) const {
    return places[chunk - first_data_chunk()];
  }
  // `whole`: the memory holds all parts.
  [[nodiscard]] std::span<std::byte> at(std::byte* memory, std::uint32_t chunk, bool whole) const {
    const std::size_t size = wire::size_of(dtype);
    if (size == 0 || count == 0 || chunk < first_data_chunk() || places.none()) return {};
    const std::size_t part = whole ? std::size_t{owner_of(chunk)} * whole_count() : 0;
    return {memory + (part + begin_of(chunk)) * size, elements_of(chunk) * size};
  }
};

// Intrusive doubly linked FIFO; an op is in at most one.
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
