// Element-wise reduction kernels: one set of functions for each (data type, reduce op, integer
// arithmetic), chosen once per job.
//
//   workers' data ──open / fold / fuse──▶ accumulator ──finish──▶ result
//   another node's accumulator ──merge──▶      ┘
//
// Accumulators. 8-bit sums and products are kept in 32 bits, those of 16-bit floats in float32;
// both are narrowed once, by finish(). Everything else is accumulated in its own type.
//
// Bits. Every instruction set gives the same bits. fuse() gives those of open() and folds in the
// same order, fold_all() those of folds. Floats are IEEE 754 operations in the order of the calls,
// rounded to nearest even, never contracted. A NaN from fold, fold_all, fuse or merge is the
// positive quiet NaN without payload; open() copies it unchanged (16-bit floats: quieted). min and
// max are IEEE 754-2019's minimum and maximum: NaN if either is, and -0 below +0; so they do not
// depend on the order. A mean is the sum, divided by the divisor in the accumulator's type.
//
// Integers. Saturating sums and products stop at the nearest limit and report it; modular ones wrap
// modulo 2^bits of the wire type. Logical ops give 0 or 1; any non-zero input, bool or integer, is
// true.
//
// Buffers have any alignment and do not overlap, except in finish(); `n` counts elements; bytes
// beyond them are neither read nor written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/isa.h"
#include "core/wire/types.h"

namespace tributary::aggregator {

using tributary::best_isa;
using tributary::Isa;
using tributary::isa_available;
using tributary::name_of;

// How integer sums and products behave beyond their type's range. Nothing else depends on it.
enum class Arithmetic : std::uint8_t { saturating, modular };

// Functions that return bool: true when an integer was saturated, so never for modular ones.
struct Kernels {
  std::uint8_t wire_bytes;  // of one element as workers send it
  std::uint8_t acc_bytes;   // of one element of an accumulator
  // acc = src
  void (*open)(void* acc, const void* src, std::size_t n);
  // acc = acc op src
  bool (*fold)(void* acc, const void* src, std::size_t n);
  // acc = srcs[0] op srcs[1] op ..., from left to right; at least one source.
  bool (*fuse)(void* acc, const void* const* srcs, std::size_t sources, std::size_t n);
  // acc = acc op srcs[0] op srcs[1] op ..., from left to right
  bool (*fold_all)(void* acc, const void* const* srcs, std::size_t sources, std::size_t n);
  // acc = acc op other, both accumulators
  bool (*merge)(void* acc, const void* other, std::size_t n);
  // out = acc, narrowed to the wire type; a mean is divided by `divisor` first, the number of
  // contributions. `out` may be `acc`.
  bool (*finish)(void* out, const void* acc, std::size_t n, std::uint32_t divisor);
  // True if finish() only copies, so that the accumulator can be sent as it is.
  bool finish_is_identity;
};

// nullptr if wire::why_invalid() gives a reason, or the instruction set is not available here.
const Kernels* find_kernels(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic,
                            Isa isa = best_isa());

}  // namespace tributary::aggregator
