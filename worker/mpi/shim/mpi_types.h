// Maps MPI's predefined types and operations to the switch's. MPI types that are equal under
// several names map to the same type, so that ranks that use different names decide alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/wire/types.h"
#include "worker/mpi/shim/mpi_functions.h"

namespace tributary::mpi {

struct ElementType {
  wire::DType dtype = wire::DType::none;
  std::uint32_t parts = 0;  // elements of dtype in one element of MPI's: 2 for complex numbers
  [[nodiscard]] std::size_t bytes() const { return parts * wire::size_of(dtype); }
};

// Filled once MPI is initialised; empty before. Read by any thread.
void learn_types();
// nullptr for a type that the switch does not sum.
const ElementType* find_type(MPI_Datatype type);
std::optional<wire::ReduceOp> find_op(MPI_Op op);
// Why the switch cannot do this op on these elements like MPI; nullptr if it can.
const char* why_not(const ElementType& type, wire::ReduceOp op);

}  // namespace tributary::mpi
