// Generated data whose reduction every rank can work out exactly, in any order and for every type.
//
// Elements are small whole numbers, chosen so that no result leaves the range in which its type is
// exact: a wrong element is an error of what computed it, never of rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/types.h"

namespace tributary::client {

class Pattern {
 public:
  // Throws std::invalid_argument when the type and the operation do not go together.
  Pattern(wire::DType dtype, wire::ReduceOp op, std::uint32_t ranks);

  // The value of rank `rank` at `index` in round `round`. Multiplicative hashing (Knuth, 6.4): a
  // chunk that lands in the place of another does not go unnoticed.
  [[nodiscard]] std::int64_t value(std::uint32_t rank, std::uint64_t index,
                                   std::uint64_t round) const;
  // The reduction of all ranks' values.
  [[nodiscard]] std::int64_t result(std::uint64_t index, std::uint64_t round) const;

  // `data` holds whole elements, the first of which has this index.
  void fill(std::span<std::byte> data, std::uint32_t rank, std::uint64_t round,
            std::uint64_t first_index = 0) const;
  // How many elements are not the reduction; not this rank's value.
  [[nodiscard]] std::uint64_t count_wrong(std::span<const std::byte> data, std::uint64_t round,
                                          std::uint64_t first_index = 0) const;
  [[nodiscard]] std::uint64_t count_wrong_of(std::uint32_t rank, std::span<const std::byte> data,
                                             std::uint64_t round,
                                             std::uint64_t first_index = 0) const;

 private:
  wire::DType dtype_;
  wire::ReduceOp op_;
  std::uint32_t ranks_;
  std::int64_t values_;  // a rank's lie between 0 and this, exclusive
};

}  // namespace tributary::client
