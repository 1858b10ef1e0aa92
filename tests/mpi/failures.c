/* Programs that go wrong in the middle of a sum: failures HOW.
 *
 *   abort     rank 1 calls MPI_Abort while the others wait for it
 *   kill      rank 1 dies of SIGKILL instead
 *   disagree  rank 1 sums another count: an error on every rank, which names both
 */
#include <signal.h>
#include <string.h>

#include "tests/mpi/check.h"

enum { COUNT = 30000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 2);
  static float data[COUNT];
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  passed("first");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int disagrees = world_rank == 1 && strcmp(argv[1], "disagree") == 0;
  if (world_rank == 1 && strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (world_rank == 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  const int result = MPI_Allreduce(MPI_IN_PLACE, data, disagrees ? COUNT / 2 : COUNT, MPI_FLOAT,
                                   MPI_SUM, MPI_COMM_WORLD);
  CHECK(result != MPI_SUCCESS);
  printf("failed on rank %d\n", world_rank);
  MPI_Finalize();
  return 0;
}
