// MPI's own functions, which this library's functions of the same name replace.
//
// The library defines both MPI_Allreduce and PMPI_Allreduce, and so on: the Fortran bindings of
// Open MPI, and other tools, call the latter. So its own calls go to the next definition of PMPI_X
// in the loader's order, which is MPI's. A call of the program that it leaves alone goes to the
// next MPI_X, which is that of a profiling tool, if one is preloaded behind this library:
//
//   program ─▶ MPI_X here ─forward()─▶ the tool's MPI_X ─▶ PMPI_X here ─is_forwarding()─▶ MPI's
#pragma once

// Excludes the C++ bindings that MPI has removed.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>

// clang-format off
#define TRIBUTARY_MPI_FUNCTIONS(X)                                                                 \
  X(Allgather) X(Allreduce) X(Barrier) X(Bcast) X(Comm_call_errhandler) X(Comm_create_keyval)      \
  X(Comm_free) X(Comm_set_errhandler) X(Comm_split) X(Type_get_true_extent)                        \
  X(Comm_delete_attr) X(Comm_get_attr) X(Comm_get_name) X(Comm_get_parent) X(Comm_rank)            \
  X(Comm_set_attr) X(Comm_size) X(Comm_test_inter) X(Finalize) X(Grequest_complete)                \
  X(Grequest_start) X(Iallgather) X(Iallreduce) X(Ibarrier) X(Ibcast) X(Init) X(Init_thread)       \
  X(Ireduce) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Pack) X(Pack_size) X(Reduce)  \
  X(Reduce_scatter) X(Reduce_scatter_block) X(Request_get_status) X(Status_set_cancelled)          \
  X(Status_set_elements) X(Test) X(Testall) X(Testany) X(Testsome) X(Type_get_envelope)            \
  X(Type_get_extent) X(Type_size) X(Unpack) X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Abort)
// clang-format on

namespace tributary::mpi {

struct MpiFunctions {
#define TRIBUTARY_MPI_DECLARE(name) decltype(&::PMPI_##name) name = nullptr;
  TRIBUTARY_MPI_FUNCTIONS(TRIBUTARY_MPI_DECLARE)
#undef TRIBUTARY_MPI_DECLARE
};

// Both are looked up at first use, and end the process if the loader finds no MPI.
const MpiFunctions& real();  // PMPI_X
const MpiFunctions& next();  // MPI_X

// True in calls that come from what forward() calls, on this thread.
extern constinit thread_local bool forwarding __attribute__((tls_model("initial-exec")));
inline bool is_forwarding() {
  return forwarding;
}

// Passes a call on unchanged.
template <typename... Parameters, typename... Arguments>
int forward(int (*MpiFunctions::*function)(Parameters...), Arguments... arguments) {
  if (forwarding) return (real().*function)(arguments...);
  forwarding = true;
  const int result = (next().*function)(arguments...);
  forwarding = false;
  return result;
}

}  // namespace tributary::mpi
