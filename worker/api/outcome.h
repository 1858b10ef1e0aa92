// The elements of an op's result that lack ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/api/communicator.h"

namespace tributary::worker {

// The number of result elements that a rank gets.
std::size_t elements_got(const CollectiveCall& call, std::uint32_t rank, std::uint32_t ranks);

// The parts of all `elements` of a result, in order; those in `lacking` lack some ranks. Neighbours
// with the same number of ranks form one part.
std::vector<Outcome::Part> cover(std::span<const Outcome::Part> lacking, std::size_t elements,
                                 std::uint32_t ranks);

}  // namespace tributary::worker
