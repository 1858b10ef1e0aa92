// AVX2 kernels for floats.
#include "aggregator/kernels/avx2.h"

#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/sets.h"

#if defined(__x86_64__)
namespace tributary::aggregator::kernels {

const Kernels* avx2_floats(wire::DType dtype, wire::ReduceOp op) {
  return find_floats<avx2::Set>(dtype, op);
}

}  // namespace tributary::aggregator::kernels
#endif
