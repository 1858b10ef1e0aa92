// What a Request points to. Shared by the caller's Requests and, until the op is finished, by the
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
#include "worker/api/completion_flag.h"
#include "worker/api/open_memory.h"
#include "worker/session/block_scaled.h"
#include "worker/session/op.h"

namespace tributary {

// What one plane of the job does of the op (worker/api/plane_parts.h).
struct Request::Part : worker::Op {
  State* whole = nullptr;
  std::uint8_t plane = 0;
  std::size_t first_element = 0;  // of the caller's parts, which this one begins at
  bool is_of_the_result = true;   // false: only found out how the elements travel
  // Of a block-scaled op: its elements.
  std::unique_ptr<worker::BlockScaled> block_scaled;
};

// After `done` is set, everything is final. Failure and ranks that were left out are those of the
// parts together.
struct Request::State {
  worker::CompletionFlag done;
  std::shared_ptr<State> self;
  std::vector<Part> parts;  // stay where they are once the first is submitted
  std::size_t finished_parts = 0;
  std::optional<worker::Failure> failure;
  std::vector<std::uint64_t> left_out;
  std::vector<Outcome::Part> lacking;  // elements that lack ranks, in order once it is done
  std::uint32_t ranks = 0;             // of the job
  std::size_t result_elements = 0;     // that this rank gets
  worker::OpenMemory::Claim memory;
  // Where the result does not go to the caller's memory at once (worker/api/call_memory.h).
  std::unique_ptr<std::byte[]> staged;
  std::byte* output = nullptr;
  std::size_t output_bytes = 0;
  worker::ArrayList list;  // of an op on several arrays

  // Its session is done with this part. True when that was the last.
  bool finish(Part& part) {
    if (part.failure && !failure) failure = std::move(part.failure);
    if (left_out.size() < part.left_out.size()) left_out.resize(part.left_out.size());
    for (std::size_t i = 0; i < part.left_out.size(); ++i) left_out[i] |= part.left_out[i];
    for (const auto& [chunk, counted] : part.lacking)
      if (part.is_of_the_result)
        lacking.push_back(
            {part.first_element + part.begin_of(chunk), part.elements_of(chunk), counted});
    if (++finished_parts < parts.size()) return false;
    std::sort(lacking.begin(), lacking.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    if (failure) return true;
    if (staged) std::memcpy(output, staged.get(), output_bytes);
    list.unpack();
    return true;
  }
};

}  // namespace tributary
