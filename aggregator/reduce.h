// Element-wise reduction kernels: acc[i] = acc[i] ⊕ in[i].
//
// Branch-free over spans, any alignment, any count. The kernel set is chosen once from what the
// CPU has; tests and benches may force one. Integer sums wrap modulo 2^32 (two's complement).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/types.h"

namespace tributary::aggregator {

// accumulator and input hold `count` elements each and do not overlap.
using ReduceFunction = void (*)(std::byte* accumulator, const std::byte* input, std::size_t count);

enum class Isa : std::uint8_t { portable, avx2, avx512, neon };
const char* name_of(Isa isa);
// Best set this CPU can run; TRIBUTARY_ISA=portable|avx2|avx512|neon in the environment lowers it.
Isa best_isa();
bool isa_available(Isa isa);

// nullptr when the pair is not supported. Supported now: sum of int32 and float32.
ReduceFunction find_reduce(wire::DType dtype, wire::ReduceOp op, Isa isa = best_isa());

}  // namespace tributary::aggregator
