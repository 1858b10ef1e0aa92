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

MpiFunctions look_up_all() {
  MpiFunctions f;
#define TRIBUTARY_MPI_LOOK_UP(name) look_up(f.name, "PMPI_" #name);
  TRIBUTARY_MPI_FUNCTIONS(TRIBUTARY_MPI_LOOK_UP)
#undef TRIBUTARY_MPI_LOOK_UP
  return f;
}

}  // namespace

const MpiFunctions& real() {
  static const MpiFunctions functions = look_up_all();
  return functions;
}

}  // namespace tributary::mpi
