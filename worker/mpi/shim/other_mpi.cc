#include "worker/mpi/shim/other_mpi.h"

#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tributary::mpi {
namespace {

int is_other(dl_phdr_info* info, std::size_t, void* found) {
  const char* const slash = std::strrchr(info->dlpi_name, '/');
  const char* const name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (std::strncmp(name, TRIBUTARY_OTHER_MPI_FILE, std::strlen(TRIBUTARY_OTHER_MPI_FILE)) != 0)
    return 0;
  *static_cast<bool*>(found) = true;
  return 1;
}

}  // namespace

void refuse_other_mpi() {
  bool found = false;
  ::dl_iterate_phdr(is_other, &found);
  if (!found) return;
  std::fprintf(stderr,
               "tributary: this program is linked with %s*: preload libtributary_mpi_%s.so, not "
               "libtributary_mpi_%s.so\n",
               TRIBUTARY_OTHER_MPI_FILE, TRIBUTARY_OTHER_MPI_NAME, TRIBUTARY_MPI_NAME);
  std::_Exit(1);
}

}  // namespace tributary::mpi
