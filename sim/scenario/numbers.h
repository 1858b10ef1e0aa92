// Elements of every type as bits, and what reducing them must give: written apart from the kernels,
// one element at a time, as the oracle needs it.
//
// Integers are combined modulo 2^64 and cut to their width, floats in the precision of their
// accumulator (float32 for the 16-bit ones), in the order of the operands; a result is rounded to
// its type once, at the end.
#pragma once

#include <cstdint>
#include <span>

#include "core/wire/types.h"

namespace tributary::sim {

using Bits = std::uint64_t;

// `value` must be a value of the type.
Bits bits_of(wire::DType dtype, std::int64_t value);
Bits bits_of(wire::DType dtype, double value);
double as_double(wire::DType dtype, Bits bits);

// The declared order of a reproducible sum, or any order of values that do not round. `values` is
// not empty.
Bits reduce(wire::DType dtype, wire::ReduceOp op, std::span<const Bits> values);

// Partial results, for orders with brackets: what reduce() does is finish(combine(open...)).
Bits open(wire::DType dtype, wire::ReduceOp op, Bits value);
Bits combine(wire::DType dtype, wire::ReduceOp op, Bits accumulator, Bits other);
Bits finish(wire::DType dtype, wire::ReduceOp op, Bits accumulator, std::size_t operands);

// Whether `got` is what some order of summing, or averaging, `values` could give. Narrow partials
// may be rounded to the elements' type after every step.
bool within_rounding(wire::DType dtype, wire::ReduceOp op, wire::Partials partials, Bits got,
                     std::span<const Bits> values);

}  // namespace tributary::sim
