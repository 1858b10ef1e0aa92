/* What the test programs of MPI share: operands that every rank can compute for every other one,
 * and an end that says which rank saw what. */
#ifndef TRIBUTARY_TESTS_MPI_CHECK_H
#define TRIBUTARY_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int world_rank;
static int world_size;

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      fprintf(stderr, "rank %d: %s:%d: %s\n", world_rank, __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                        \
    }                                                                                      \
  } while (0)

static inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

static inline void passed(const char* what) {
  if (world_rank == 0) printf("passed %s\n", what);
  fflush(stdout);
}

/* A small whole number: sums of them are exact in any type and order. */
static inline int operand(int rank, int i) {
  return (rank * 7 + i * 3) % 23 + 1;
}

static inline int operand_sum(int ranks, int i) {
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += operand(rank, i);
  return sum;
}

static inline int operand_max(int ranks, int i) {
  int most = 0;
  for (int rank = 0; rank < ranks; ++rank)
    if (operand(rank, i) > most) most = operand(rank, i);
  return most;
}

#endif
