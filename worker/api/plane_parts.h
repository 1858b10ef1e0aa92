// How the planes of a job share an op: each does a range of consecutive chunks of every part of it,
// as an op of its own. The ranges follow each other, and chunks are those of an undivided op. So
// the same elements are summed together whatever the number of planes, and floats get the same
// bits.
//
//   elements of a part   |----chunk----|----chunk----|----chunk----|--chunk--|
//   two planes           |------------ plane 0 ------|------ plane 1 --------|
//
// An op that has some chunks of an array alone (layout::ChunkPlaces) is cut in the same way: each
// plane has a run of those.
//
// Plane 0 has a share of every op, even if it is empty: there, ranks that disagree about an op are
// detected. Plane 0 alone does ops of one chunk, barriers, and ops on a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "worker/api/request_state.h"

namespace tributary::worker {

// A range of elements of a part.
struct PlaneRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};
// The ranges of `count` elements, by plane; planes beyond the vector have none.
std::vector<PlaneRange> plane_ranges(std::size_t count, std::size_t elements_per_chunk,
                                     std::uint32_t planes);

// Fills state.parts, in the order of submission. If `of_count` is set, the op is itself a range of
// each part, which begins at state.first_element. A block-scaled op without `exponent` becomes two
// ops on each plane: the exponents, then the mantissas.
void split(const Op& op, std::uint32_t rank, std::uint32_t ranks, const wire::StartInfo& start,
           Request::State& state);
void split_block_scaled(const Op& op, std::uint32_t rank, std::uint32_t ranks,
                        const wire::StartInfo& start, std::optional<std::int32_t> exponent,
                        Request::State& state);

// The call behind an op that has its parts.
struct CalledOp {
  Op op;
  bool block_scaled = false;
  std::optional<std::int32_t> exponent;
};
CalledOp called_op(const Request::State& state);
// Cuts it by another START; no session has its parts any more.
void split_called(const CalledOp& called, std::uint32_t rank, std::uint32_t ranks,
                  const wire::StartInfo& start, Request::State& state);
// The same for an op of which nothing has been sent.
void split_again(std::uint32_t rank, std::uint32_t ranks, const wire::StartInfo& start,
                 Request::State& state);

}  // namespace tributary::worker
