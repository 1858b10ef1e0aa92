#include "worker/api/plane_parts.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace tributary::worker {
namespace {

std::byte* at(std::byte* memory, std::size_t element, wire::DType dtype) {
  return memory == nullptr ? nullptr : memory + element * wire::size_of(dtype);
}

std::vector<PlaneRange> ranges_of(const Op& op, std::uint32_t rank, std::uint32_t ranks,
                                  const wire::StartInfo& start) {
  if (wire::concerns_model(op.collective)) return {{0, op.count}};
  Op undivided = op;
  undivided.cut(rank, ranks, start);
  if (!op.places.all()) return plane_ranges(op.places.size(), 1, start.planes);
  return plane_ranges(op.count, undivided.elements_per_chunk, start.planes);
}

// Without what a session, or the cut, has added.
Op what_is_called(const Op& part) {
  Op op;
  op.data = part.data;
  op.output = part.output;
  op.count = part.count;
  op.of_count = part.of_count;
  op.dtype = part.dtype;
  op.reduce_op = part.reduce_op;
  op.collective = part.collective;
  op.root = part.root;
  op.array = part.array;
  op.address = part.address;
  return op;
}

// The range counts chunks where the op has some chunks alone, else elements.
Request::Part& add_part(const Op& op, std::size_t plane, const PlaneRange& range,
                        Request::State& state) {
  Request::Part& part = state.parts.emplace_back();
  static_cast<Op&>(part) = op;
  part.whole = &state;
  part.plane = static_cast<std::uint8_t>(plane);
  if (!op.places.all()) {
    part.places = op.places.part(range.begin, range.count);
    part.of_count = op.whole_count();
    part.first_element = state.first_element;
    return part;
  }
  part.data = at(op.data, range.begin, op.dtype);
  part.output = at(op.output, range.begin, op.dtype);
  part.count = range.count;
  part.of_count = op.whole_count();
  part.first_element = state.first_element + range.begin;
  return part;
}

// `sum` is cut into chunks.
std::unique_ptr<BlockScaled> scale(const Op& sum, const PlaneRange& range, std::uint32_t ranks,
                                   std::optional<std::int32_t> exponent) {
  const auto floats = [&](std::size_t begin, std::size_t count) {
    return std::span(reinterpret_cast<float*>(at(sum.data, begin, sum.dtype)), count);
  };
  if (sum.places.all())
    return std::make_unique<BlockScaled>(floats(range.begin, range.count), ranks,
                                         sum.elements_per_chunk, exponent);
  return std::make_unique<BlockScaled>(floats(0, sum.count), ranks, sum.elements_per_chunk,
                                       exponent, sum.places.part(range.begin, range.count));
}

}  // namespace

std::vector<PlaneRange> plane_ranges(std::size_t count, std::size_t elements_per_chunk,
                                     std::uint32_t planes) {
  const std::size_t chunks = (count + elements_per_chunk - 1) / elements_per_chunk;
  std::vector<PlaneRange> ranges;
  std::size_t begin = 0;
  for (std::size_t plane = 0; plane < planes && (begin < count || plane == 0); ++plane) {
    const std::size_t own = chunks / planes + (plane < chunks % planes ? 1 : 0);
    ranges.push_back({begin, std::min(own * elements_per_chunk, count - begin)});
    begin += ranges.back().count;
  }
  return ranges;
}

void split(const Op& op, std::uint32_t rank, std::uint32_t ranks, const wire::StartInfo& start,
           Request::State& state) {
  const auto ranges = ranges_of(op, rank, ranks, start);
  state.parts.reserve(ranges.size());
  for (std::size_t plane = 0; plane < ranges.size(); ++plane)
    add_part(op, plane, ranges[plane], state);
}

void split_block_scaled(const Op& op, std::uint32_t rank, std::uint32_t ranks,
                        const wire::StartInfo& start, std::optional<std::int32_t> exponent,
                        Request::State& state) {
  Op sum = op;
  sum.dtype = wire::DType::int32;  // its elements have the floats' size
  sum.cut(rank, ranks, start);
  const auto ranges = ranges_of(sum, rank, ranks, start);
  state.parts.reserve(2 * ranges.size());  // parts point at each other
  for (std::size_t plane = 0; plane < ranges.size(); ++plane) {
    const PlaneRange& range = ranges[plane];
    auto scaled = scale(sum, range, ranks, exponent);
    const Op* after = nullptr;
    if (!exponent) {
      const auto exponents = scaled->exponents();
      Op largest;
      largest.data = reinterpret_cast<std::byte*>(exponents.data());
      largest.count = exponents.size();
      largest.dtype = wire::DType::int16;
      largest.reduce_op = wire::ReduceOp::max;
      largest.address = op.address;
      Request::Part& exponents_part = add_part(largest, plane, {0, largest.count}, state);
      exponents_part.is_of_the_result = false;
      after = &exponents_part;
    }
    Request::Part& part = add_part(sum, plane, range, state);
    part.scaled = scaled.get();
    part.after = after;
    part.block_scaled = std::move(scaled);
  }
}

CalledOp called_op(const Request::State& state) {
  CalledOp called;
  Op& whole = called.op;
  for (const Request::Part& part : state.parts) {
    if (!part.is_of_the_result) continue;
    const std::size_t before = std::exchange(whole.count, whole.count + part.count);
    if (before != 0 || whole.of_count != 0) continue;
    whole = what_is_called(part);
    called.block_scaled = part.block_scaled != nullptr;
    if (called.block_scaled && part.block_scaled->chosen())
      called.exponent = part.block_scaled->exponent(0);
  }
  if (whole.address) {
    whole.count = whole.of_count;  // every part has said that of the whole array
    whole.places = layout::ChunkPlaces(state.places);
  }
  return called;
}

void split_called(const CalledOp& called, std::uint32_t rank, std::uint32_t ranks,
                  const wire::StartInfo& start, Request::State& state) {
  state.parts.clear();
  if (called.block_scaled)
    split_block_scaled(called.op, rank, ranks, start, called.exponent, state);
  else
    split(called.op, rank, ranks, start, state);
}

void split_again(std::uint32_t rank, std::uint32_t ranks, const wire::StartInfo& start,
                 Request::State& state) {
  split_called(called_op(state), rank, ranks, start, state);
}

}  // namespace tributary::worker
