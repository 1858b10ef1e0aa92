// Chooses kernels, which are in kernels/.
#include "aggregator/kernels/reduce.h"

#include "aggregator/kernels/sets.h"

namespace tributary::aggregator {

const Kernels* find_kernels(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic, Isa isa) {
  if (wire::why_invalid(dtype, op) != nullptr || !isa_available(isa)) return nullptr;
  const bool floats = wire::is_float(dtype);
  switch (isa) {
    case Isa::portable: break;
#if defined(__x86_64__)
    case Isa::avx2:
      return floats ? kernels::avx2_floats(dtype, op)
                    : kernels::avx2_integers(dtype, op, arithmetic);
    case Isa::avx512:
      return floats ? kernels::avx512_floats(dtype, op)
                    : kernels::avx512_integers(dtype, op, arithmetic);
#elif defined(__aarch64__)
    // The portable set has all of NEON but the conversions of float16.
    case Isa::neon:
      if (floats) return kernels::neon_floats(dtype, op);
      break;
#endif
    default: break;
  }
  return floats ? kernels::portable_floats(dtype, op)
                : kernels::portable_integers(dtype, op, arithmetic);
}

}  // namespace tributary::aggregator
