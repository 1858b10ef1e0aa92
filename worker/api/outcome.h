// What of an op's result lacks ranks, by elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/api/communicator.h"

namespace tributary::worker {

// Elements of the result that a rank gets.
std::size_t elements_got(const CollectiveCall& call, std::uint32_t rank, std::uint32_t ranks);

// All `elements` of a result, in order, of which `lacking` have fewer than all ranks inside:
// neighbours with as many ranks are one part.
std::vector<Outcome::Part> cover(std::span<const Outcome::Part> lacking, std::size_t elements,
                                 std::uint32_t ranks);

}  // namespace tributary::worker
