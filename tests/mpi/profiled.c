/* What a profiling tool (tool.c) sees of a program: a large sum, a small one, a barrier, a message
 * and a nonblocking sum. */
#include "tests/mpi/check.h"

enum { LARGE = 30000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  float* const large = calloc(LARGE, sizeof *large);
  float small = 1;
  int got = 0;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  for (int i = 0; i < LARGE; ++i) large[i] = (float)operand(world_rank, i);
  MPI_Allreduce(MPI_IN_PLACE, large, LARGE, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < LARGE; ++i) CHECK(large[i] == (float)operand_sum(world_size, i));
  MPI_Allreduce(MPI_IN_PLACE, &small, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(small == (float)world_size);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < LARGE; ++i) large[i] = 1;
  MPI_Iallreduce(MPI_IN_PLACE, large, LARGE, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&got, 1, MPI_INT, (world_rank + world_size - 1) % world_size, 1, MPI_COMM_WORLD,
            &requests[1]);
  MPI_Send(&world_rank, 1, MPI_INT, (world_rank + 1) % world_size, 1, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, statuses);
  CHECK(large[LARGE - 1] == (float)world_size);
  passed("profiled");
  free(large);
  MPI_Finalize();
  return 0;
}
