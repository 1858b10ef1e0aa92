// AVX2 kernels for integers and bool.
#include "aggregator/kernels/avx2.h"

#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/sets.h"

#if defined(__x86_64__)
namespace tributary::aggregator::kernels {

const Kernels* avx2_integers(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic) {
  return find_integers<avx2::Set>(dtype, op, arithmetic);
}

}  // namespace tributary::aggregator::kernels
#endif
