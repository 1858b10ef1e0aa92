#include "worker/mpi/shim/mpi_functions.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace tributary::mpi {
namespace {

template <typename Function>
void look_up(Function& function, const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "tributary: no %s behind this library: is the program one of %s?\n", name,
                 TRIBUTARY_MPI_NAME);
    std::abort();
  }
  function = reinterpret_cast<Function>(found);
}

}  // namespace

constinit thread_local bool forwarding = false;

#define TRIBUTARY_MPI_PUT_PMPI(name) look_up(f.name, "PMPI_" #name);
#define TRIBUTARY_MPI_PUT_MPI(name) look_up(f.name, "MPI_" #name);

const MpiFunctions& real() {
  static const MpiFunctions functions = [] {
    MpiFunctions f;
    TRIBUTARY_MPI_FUNCTIONS(TRIBUTARY_MPI_PUT_PMPI)
    return f;
  }();
  return functions;
}

const MpiFunctions& next() {
  static const MpiFunctions functions = [] {
    MpiFunctions f;
    TRIBUTARY_MPI_FUNCTIONS(TRIBUTARY_MPI_PUT_MPI)
    return f;
  }();
  return functions;
}

}  // namespace tributary::mpi
