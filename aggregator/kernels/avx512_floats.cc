// AVX-512 kernels for floats.
#include "aggregator/kernels/avx512.h"

#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/sets.h"

#if defined(__x86_64__)
namespace tributary::aggregator::kernels {

const Kernels* avx512_floats(wire::DType dtype, wire::ReduceOp op) {
  return find_floats<avx512::Set>(dtype, op);
}

}  // namespace tributary::aggregator::kernels
#endif
