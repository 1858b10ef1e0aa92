// Generated data of a collective: what goes in, which call it is, and what has to come out.
#pragma once

#include <cstdint>
#include <span>

#include "core/wire/types.h"
#include "tools/client/collective/pattern.h"

namespace tributary::client {

class Generated {
 public:
  // `count`: elements of the call (CollectiveCall::count): of one part where there are parts.
  // Throws std::invalid_argument when the type and the operation do not go together.
  Generated(wire::Collective collective, wire::DType dtype, wire::ReduceOp op, std::uint32_t root,
            std::uint32_t ranks, std::uint64_t count);

  // Elements that a rank gives, and that it has afterwards.
  [[nodiscard]] std::uint64_t input_elements() const;
  [[nodiscard]] std::uint64_t result_elements() const;

  void fill(std::span<std::byte> input, std::uint32_t rank, std::uint64_t round) const;
  // Number of wrong elements in a rank's result. After a reduce, ranks beside the root keep their
  // data.
  [[nodiscard]] std::uint64_t count_wrong(std::span<const std::byte> result, std::uint32_t rank,
                                          std::uint64_t round) const;

 private:
  wire::Collective collective_;
  std::uint32_t root_;
  std::uint32_t ranks_;
  std::uint64_t count_;
  Pattern pattern_;
};

// Whether the library does it in the memory that holds the data; otherwise the result has memory of
// its own.
bool in_place_alone(wire::Collective collective);
bool reduces(wire::Collective collective);
bool has_root(wire::Collective collective);

}  // namespace tributary::client
