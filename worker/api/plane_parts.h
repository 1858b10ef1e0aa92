// How the planes of a job share an op: each does a range of consecutive chunks of every part of it,
// as an op of its own. The ranges follow each other, and chunks are those of an undivided op, so
// the same elements are summed together whatever the number of planes, and floats get the same
// bits.
//
//   elements of a part   |----chunk----|----chunk----|----chunk----|--chunk--|
//   two planes           |------------ plane 0 ------|------ plane 1 --------|
//
// Plane 0 has a share of every op, be it empty: ranks that disagree about an op meet there. What is
// one chunk is done by plane 0 alone, and so are barriers and what concerns a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "worker/api/request_state.h"

namespace tributary::worker {

// Elements of a part.
struct PlaneRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};
// Of `count` elements, by plane; those that follow have none.
std::vector<PlaneRange> plane_ranges(std::size_t count, std::size_t elements_per_chunk,
                                     std::uint32_t planes);

// Fills state.parts, in the order in which they are to be submitted. A block-scaled op without
// `exponent` is two on each plane: the exponents, then the mantissas.
void split(const Op& op, std::uint32_t rank, std::uint32_t ranks, const wire::StartInfo& start,
           Request::State& state);
void split_block_scaled(const Op& op, std::uint32_t rank, std::uint32_t ranks,
                        const wire::StartInfo& start, std::optional<std::int32_t> exponent,
                        Request::State& state);

}  // namespace tributary::worker
