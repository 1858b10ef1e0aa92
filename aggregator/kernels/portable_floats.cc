// Portable kernels for floats.
#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/portable.h"
#include "aggregator/kernels/sets.h"

namespace tributary::aggregator::kernels {

const Kernels* portable_floats(wire::DType dtype, wire::ReduceOp op) {
  return find_floats<portable::Set>(dtype, op);
}

}  // namespace tributary::aggregator::kernels
