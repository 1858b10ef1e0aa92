// MPI_Init and MPI_Finalize.
#include "worker/mpi/shim/other_mpi.h"
#include "worker/mpi/shim/route.h"

using namespace tributary::mpi;  // NOLINT: this file is the library's face in C

TRIBUTARY_MPI_DEFINE(Init, int* argc, char*** argv) {
  if (is_forwarding()) return real().Init(argc, argv);
  refuse_other_mpi();
  const int result = forward(&MpiFunctions::Init, argc, argv);
  if (result == MPI_SUCCESS) start_runtime();
  return result;
}

TRIBUTARY_MPI_DEFINE(Init_thread, int* argc, char*** argv, int required, int* provided) {
  if (is_forwarding()) return real().Init_thread(argc, argv, required, provided);
  refuse_other_mpi();
  const int result = forward(&MpiFunctions::Init_thread, argc, argv, required, provided);
  if (result == MPI_SUCCESS) start_runtime();
  return result;
}

TRIBUTARY_MPI_DEFINE(Finalize) {
  if (is_forwarding()) return real().Finalize();
  stop_runtime();
  return forward(&MpiFunctions::Finalize);
}
