// The instruction sets' catalogs, one or two translation units each. A returned function may only
// be called if its set is available; reduce.cc ensures that. nullptr for pairs that a catalog does
// not have or that are not valid.
#pragma once

#include "aggregator/kernels/reduce.h"

namespace tributary::aggregator::kernels {

const Kernels* portable_integers(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic);
const Kernels* portable_floats(wire::DType dtype, wire::ReduceOp op);
#if defined(__x86_64__)
const Kernels* avx2_integers(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic);
const Kernels* avx2_floats(wire::DType dtype, wire::ReduceOp op);
const Kernels* avx512_integers(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic);
const Kernels* avx512_floats(wire::DType dtype, wire::ReduceOp op);
#elif defined(__aarch64__)
const Kernels* neon_floats(wire::DType dtype, wire::ReduceOp op);
#endif

}  // namespace tributary::aggregator::kernels
