// The reference for every kernel, one element at a time and written another way: integers in 128
// bits, 16-bit floats through double and std::ldexp. Elements travel as the bits of their type.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/kernels/reduce.h"
#include "core/prng.h"

namespace tributary::aggregator::reference {

using Bits = std::uint64_t;

// One valid combination of type, op and arithmetic.
struct Case {
  wire::DType dtype;
  wire::ReduceOp op;
  Arithmetic arithmetic;
};
// All of them; floats and bool once, with saturating arithmetic.
std::vector<Case> all_cases();
std::string name_of(const Case& c);

// `overflow` is set, never cleared.
Bits open(const Case& c, Bits wire);
Bits combine(const Case& c, Bits acc, Bits other_acc, bool& overflow);
Bits finish(const Case& c, Bits acc, std::uint32_t divisor, bool& overflow);

// Numbers at the edges of the type: limits, infinities, NaNs, denormals, zeros of both signs.
std::vector<Bits> special_values(wire::DType dtype);
// Any bits, ordinary numbers or special values, in about equal parts.
Bits random_value(Prng& prng, wire::DType dtype);

}  // namespace tributary::aggregator::reference
