// MPI's predefined types and operations in the switch's words. Types that have several names in MPI
// mean the same here, so that ranks that use different ones decide alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/wire/types.h"
#include "worker/mpi/shim/mpi_functions.h"

namespace tributary::mpi {

struct ElementType {
  wire::DType dtype = wire::DType::none;
  std::uint32_t parts = 0;  // elements of dtype that one of MPI's is made of: 2 of complex numbers
  [[nodiscard]] std::size_t bytes() const { return parts * wire::size_of(dtype); }
};

// Filled once MPI is initialised; empty before. Read by any thread.
void learn_types();
// nullptr: a type that the switch does not sum.
const ElementType* find_type(MPI_Datatype type);
std::optional<wire::ReduceOp> find_op(MPI_Op op);
// Why the switch does not do this op on these elements as MPI does; nullptr: it does.
const char* why_not(const ElementType& type, wire::ReduceOp op);

}  // namespace tributary::mpi
