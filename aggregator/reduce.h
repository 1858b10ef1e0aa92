// Element-wise reduction kernels: acc[i] = acc[i] ⊕ in[i].
//
// Branch-free over spans, any alignment, any count. The kernel set is chosen once from what the
// CPU has; tests and benches may force one. Integer sums wrap modulo 2^32 (two's complement);
// float sums are IEEE 754 single additions in the order of the calls, so every set gives the
// same bits (of a NaN only that it is one). Nothing beyond `count` elements is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/isa.h"
#include "core/wire/types.h"

namespace tributary::aggregator {

// accumulator and input hold `count` elements each and do not overlap.
using ReduceFunction = void (*)(std::byte* accumulator, const std::byte* input, std::size_t count);

using tributary::best_isa;
using tributary::Isa;
using tributary::isa_available;
using tributary::name_of;

// nullptr when the pair is not supported, or the set is not available here. Supported now: sum
// of int32 and float32.
ReduceFunction find_reduce(wire::DType dtype, wire::ReduceOp op, Isa isa = best_isa());

}  // namespace tributary::aggregator
