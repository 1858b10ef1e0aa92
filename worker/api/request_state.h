// The state of a Request. Shared by the caller's Requests and, until the op is finished, by the
// progress thread, which holds `self` meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "worker/api/array_list.h"
#include "worker/api/communicator.h"
#include "worker/api/open_memory.h"
#include "worker/session/block_scaled.h"
#include "worker/session/op.h"
#include "worker/wait/completion_flag.h"

namespace tributary {

namespace worker {
class ShardedOp;
}

// One plane's part of the op (worker/api/plane_parts.h).
struct Request::Part : worker::Op {
  State* whole = nullptr;
  std::uint8_t plane = 0;
  std::size_t first_element = 0;  // where this part begins in the caller's parts
  bool is_of_the_result = true;   // false: only exchanges exponents before the elements
  // Set for a block-scaled op: its elements.
  std::unique_ptr<worker::BlockScaled> block_scaled;
};

// After `done` is set, everything is final. Failure and missing ranks are those of all parts
// together.
struct Request::State {
  worker::CompletionFlag done;
  std::shared_ptr<State> self;
  std::vector<Part> parts;  // do not move once the first is submitted
  std::size_t finished_parts = 0;
  std::uint32_t cut_by = 0;  // which START the parts are cut by (Progress::Agreed)
  std::optional<worker::Failure> failure;
  std::vector<std::uint64_t> left_out;
  std::vector<Outcome::Part> lacking;  // elements that lack ranks, in order once it is done
  std::uint32_t ranks = 0;             // of the job
  std::size_t result_elements = 0;     // that this rank gets
  worker::OpenMemory::Claim memory;
  // Set if the result does not go to the caller's memory directly (worker/api/call_memory.h).
  std::unique_ptr<std::byte[]> staged;
  std::byte* output = nullptr;
  std::size_t output_bytes = 0;
  worker::ArrayList list;  // for an op on several arrays

  // Set for a shard that one of several switches does (worker/api/sharded_op.h); null: this is the
  // whole op.
  std::shared_ptr<worker::ShardedOp> sharded;
  std::size_t first_element = 0;        // where the shard begins in the caller's parts
  std::vector<std::uint32_t> places;    // of a shard chosen by addresses: its parts' chunks
  std::optional<std::uint32_t> number;  // of the op, if not every switch has a part of it
  std::uint64_t log_number = 0;         // in the RetryLog, if there is one

  // The part's session has finished it. Returns true if it was the last part: complete() follows.
  bool finish(Part& part) {
    if (part.failure && !failure) failure = std::move(part.failure);
    if (left_out.size() < part.left_out.size()) left_out.resize(part.left_out.size());
    for (std::size_t i = 0; i < part.left_out.size(); ++i) left_out[i] |= part.left_out[i];
    for (const auto& [chunk, counted] : part.lacking)
      if (part.is_of_the_result)
        lacking.push_back(
            {part.first_element + part.begin_of(chunk), part.elements_of(chunk), counted});
    return ++finished_parts == parts.size();
  }
  // The same for a shard, all of whose parts have finished. Where ranks disagree, one may have left
  // the other switches before this rank has heard of it.
  void include(State& shard) {
    if (shard.failure && (!failure || (failure->reason == wire::Reason::rank_left &&
                                       shard.failure->reason == wire::Reason::op_mismatch)))
      failure = std::move(shard.failure);
    if (left_out.size() < shard.left_out.size()) left_out.resize(shard.left_out.size());
    for (std::size_t i = 0; i < shard.left_out.size(); ++i) left_out[i] |= shard.left_out[i];
    lacking.insert(lacking.end(), shard.lacking.begin(), shard.lacking.end());
  }
  // All parts are finished: puts the result into the caller's memory.
  void complete() {
    std::sort(lacking.begin(), lacking.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    if (failure) return;
    if (staged) std::memcpy(output, staged.get(), output_bytes);
    list.unpack();
  }
};

}  // namespace tributary
