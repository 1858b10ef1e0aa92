/* One rank of suite `mpi`: an ordinary MPI program that knows nothing of Tributary.
 *
 *   mpi_rank BYTES ITERATIONS [BYTES ITERATIONS ...]
 *
 * For each pair rank 0 prints "BYTES SECONDS VERIFIED": the mean time of a float32 MPI_Allreduce,
 * which lasts until its slowest rank has it, and whether every element of the last sum was right
 * everywhere.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int value_of(int rank, size_t i) {
  return (int)((i * 7 + (size_t)rank * 13) % 1000);
}

static int is_right(const float* sums, size_t count, int ranks) {
  for (size_t i = 0; i < count; ++i) {
    int sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += value_of(rank, i);
    if (sums[i] != (float)sum) return 0;
  }
  return 1;
}

/* The slowest rank's seconds for each sum, added up. */
static double measure(const float* data, float* sums, size_t count, int iterations) {
  double total = 0;
  for (int i = 0; i < iterations; ++i) {
    memset(sums, 0, count * sizeof *sums);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    MPI_Allreduce(data, sums, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - begun;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    total += seconds;
  }
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int at = 1; at + 1 < argc; at += 2) {
    const size_t count = strtoul(argv[at], NULL, 10) / sizeof(float);
    const int iterations = atoi(argv[at + 1]);
    float* const data = malloc(count * sizeof *data);
    float* const sums = malloc(count * sizeof *sums);
    if (data == NULL || sums == NULL || iterations < 1) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < count; ++i) data[i] = (float)value_of(rank, i);
    measure(data, sums, count, 1);
    const double seconds = measure(data, sums, count, iterations) / iterations;
    int right = is_right(sums, count, ranks);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0) printf("%zu %.9f %d\n", count * sizeof(float), seconds, right);
    free(data);
    free(sums);
  }
  MPI_Finalize();
  return 0;
}
