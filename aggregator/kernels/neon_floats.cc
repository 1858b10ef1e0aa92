// NEON kernels for floats. The portable loops are NEON code already: it is the baseline of aarch64.
#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/portable.h"
#include "aggregator/kernels/sets.h"

#if defined(__aarch64__)
namespace tributary::aggregator::kernels {

const Kernels* neon_floats(wire::DType dtype, wire::ReduceOp op) {
  return portable_floats(dtype, op);
}

}  // namespace tributary::aggregator::kernels
#endif
