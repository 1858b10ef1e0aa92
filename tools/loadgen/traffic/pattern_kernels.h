// The loops over a chunk's elements behind pattern.h, for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/isa.h"

namespace tributary::loadgen {

// `table` has as many elements as the other span has room for; neither need be aligned. Whole
// elements only: a rest of less than one is left alone, as is what is in it.
template <typename T>
struct PatternKernels {
  // out[i] = table[i] + addend; returns ones_complement_sum(out).
  std::uint16_t (*write)(const std::byte* table, T addend, std::span<std::byte> out);
  // Whether bytes[i] is table[i] + addend for all i, bit for bit.
  bool (*equals)(const std::byte* table, T addend, std::span<const std::byte> bytes);
};

// The best that needs no more than `isa`, which this CPU has. T: float, std::int32_t.
template <typename T>
PatternKernels<T> pattern_kernels(Isa isa);
extern template PatternKernels<float> pattern_kernels<float>(Isa isa);
extern template PatternKernels<std::int32_t> pattern_kernels<std::int32_t>(Isa isa);

}  // namespace tributary::loadgen
