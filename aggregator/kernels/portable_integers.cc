// Portable kernels for integers and bool.
#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/portable.h"
#include "aggregator/kernels/sets.h"

namespace tributary::aggregator::kernels {

const Kernels* portable_integers(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic) {
  return find_integers<portable::Set>(dtype, op, arithmetic);
}

}  // namespace tributary::aggregator::kernels
