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

/* Rank 1 dies when all the others have begun a sum. */
static void die_in_the_middle(const char* how, float* data) {
  char begun = 1;
  if (world_rank != 1) {
    MPI_Request sum;
    MPI_Iallreduce(MPI_IN_PLACE, data, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &sum);
    MPI_Send(&begun, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
    exit(1);
  }
  for (int i = 1; i < world_size; ++i)
    MPI_Recv(&begun, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 2);
  static float data[COUNT];
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  passed("first");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int disagrees = world_rank == 1 && strcmp(argv[1], "disagree") == 0;
  if (strcmp(argv[1], "disagree") != 0) die_in_the_middle(argv[1], data);
  const int result = MPI_Allreduce(MPI_IN_PLACE, data, disagrees ? COUNT / 2 : COUNT, MPI_FLOAT,
                                   MPI_SUM, MPI_COMM_WORLD);
  CHECK(result != MPI_SUCCESS);
  printf("failed on rank %d\n", world_rank);
  MPI_Finalize();
  return 0;
}
