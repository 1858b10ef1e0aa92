/* What the preloaded library adds to a call that stays with MPI: call_cost ROUNDS CALLS LIBRARY,
 * the latter the file name of MPI's own.
 *
 * Prints for each round the nanoseconds of a small MPI_Allreduce of one rank through the library,
 * and of the same by the function of MPI's library itself, which take turns. */
// clock_gettime(), also where the compiler keeps to C11.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <time.h>

#include "tests/mpi/check.h"

typedef int allreduce_function(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

static double nanoseconds(allreduce_function* function, int calls) {
  double value = 1;
  struct timespec begun;
  struct timespec done;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  for (int i = 0; i < calls; ++i)
    function(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
  clock_gettime(CLOCK_MONOTONIC, &done);
  CHECK(value == 1);
  return ((double)(done.tv_sec - begun.tv_sec) * 1e9 + (double)(done.tv_nsec - begun.tv_nsec)) /
         calls;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 4);
  const int rounds = atoi(argv[1]);
  const int calls = atoi(argv[2]);
  void* const library = dlopen(argv[3], RTLD_NOW | RTLD_NOLOAD);
  CHECK(library != NULL);
  allreduce_function* own = NULL;
  *(void**)&own = dlsym(library, "PMPI_Allreduce");
  CHECK(own != NULL);
  for (int round = 0; round < rounds; ++round)
    printf("%.1f %.1f\n", nanoseconds(MPI_Allreduce, calls), nanoseconds(own, calls));
  MPI_Finalize();
  return 0;
}
