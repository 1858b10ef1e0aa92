// AVX-512 kernels for integers and bool.
#include "aggregator/kernels/avx512.h"

#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/sets.h"

#if defined(__x86_64__)
namespace tributary::aggregator::kernels {

const Kernels* avx512_integers(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic) {
  return find_integers<avx512::Set>(dtype, op, arithmetic);
}

}  // namespace tributary::aggregator::kernels
#endif
