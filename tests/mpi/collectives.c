/* Every collective that the preloaded library offloads, against what each rank computes itself.
 * Knows nothing of the library: the test compares what it says in its log. */
#include <limits.h>
#include <string.h>

#include "tests/mpi/check.h"

enum { COUNT = 10007 };

static float* floats(int rank, int count) {
  float* const data = malloc((size_t)count * sizeof *data);
  for (int i = 0; i < count; ++i) data[i] = (float)operand(rank, i);
  return data;
}

static void allreduce_floats(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  float* const mine = floats(rank, COUNT);
  float* const sum = malloc(COUNT * sizeof *sum);
  CHECK(MPI_Allreduce(mine, sum, COUNT, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS);
  for (int i = 0; i < COUNT; ++i) CHECK(sum[i] == (float)operand_sum(size, i));
  for (int i = 0; i < COUNT; ++i) CHECK(mine[i] == (float)operand(rank, i));
  MPI_Allreduce(MPI_IN_PLACE, mine, COUNT, MPI_FLOAT, MPI_MAX, comm);
  for (int i = 0; i < COUNT; ++i) CHECK(mine[i] == (float)operand_max(size, i));
  free(mine);
  free(sum);
}

/* Integers wrap in MPI programs. */
static void allreduce_integers(void) {
  int* const data = malloc(COUNT * sizeof *data);
  unsigned total = 0;
  for (int i = 0; i < COUNT; ++i) data[i] = INT_MAX - i;
  for (int rank = 0; rank < world_size; ++rank) total += (unsigned)(INT_MAX - 5);
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK((unsigned)data[5] == total);
  for (int i = 0; i < COUNT; ++i) data[i] = 1 << ((world_rank + i) % 30);
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i) {
    int all = 0;
    for (int rank = 0; rank < world_size; ++rank) all |= 1 << ((rank + i) % 30);
    CHECK(data[i] == all);
  }
  free(data);
  signed char bytes[COUNT];
  for (int i = 0; i < COUNT; ++i) bytes[i] = (signed char)(i % 2 == 0 || world_rank == 1);
  MPI_Allreduce(MPI_IN_PLACE, bytes, COUNT, MPI_SIGNED_CHAR, MPI_LAND, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i) CHECK(bytes[i] == (i % 2 == 0));
}

static void allreduce_complex(void) {
  double* const data = malloc(2 * COUNT * sizeof *data);
  for (int i = 0; i < 2 * COUNT; ++i) data[i] = operand(world_rank, i);
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 2 * COUNT; ++i) CHECK(data[i] == operand_sum(world_size, i));
  free(data);
}

static void reduce(void) {
  for (int root = 0; root < world_size; ++root) {
    float* const mine = floats(world_rank, COUNT);
    float* const sum = calloc(COUNT, sizeof *sum);
    MPI_Reduce(mine, sum, COUNT, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; ++i)
      CHECK(sum[i] == (world_rank == root ? (float)operand_sum(world_size, i) : 0));
    // In place at another root, MPICH 4.0.2 itself crashes.
    if (root == 0) {
      MPI_Reduce(world_rank == 0 ? MPI_IN_PLACE : mine, world_rank == 0 ? mine : NULL, COUNT,
                 MPI_FLOAT, MPI_MAX, 0, MPI_COMM_WORLD);
      for (int i = 0; i < COUNT && world_rank == 0; ++i)
        CHECK(mine[i] == (float)operand_max(world_size, i));
    }
    free(mine);
    free(sum);
  }
}

/* The last rank names the same bytes by another type, with a gap behind every element. */
static void bcast(void) {
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
  MPI_Type_commit(&spread);
  for (int root = 0; root < world_size; ++root) {
    int* const data = malloc(2 * COUNT * sizeof *data);
    const int step = world_rank == world_size - 1 ? 2 : 1;
    for (int i = 0; i < 2 * COUNT; ++i) data[i] = -1;
    for (int i = 0; i < COUNT && world_rank == root; ++i) data[i * step] = operand(root, i);
    MPI_Bcast(data, COUNT, step == 2 ? spread : MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; ++i) CHECK(data[i * step] == operand(root, i));
    for (int i = 0; i < COUNT && step == 2; ++i) CHECK(data[i * step + 1] == -1);
    free(data);
  }
  MPI_Type_free(&spread);
}

static void check_gathered(const double* all, int step) {
  for (int rank = 0; rank < world_size; ++rank)
    for (int i = 0; i < COUNT; ++i) CHECK(all[(rank * COUNT + i) * step] == operand(rank, i));
}

static void allgather(void) {
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &spread);
  MPI_Type_commit(&spread);
  double* const mine = malloc(COUNT * sizeof *mine);
  double* const all = calloc((size_t)world_size * COUNT * 2, sizeof *all);
  for (int i = 0; i < COUNT; ++i) mine[i] = operand(world_rank, i);
  MPI_Allgather(mine, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, MPI_COMM_WORLD);
  check_gathered(all, 1);
  MPI_Allgather(mine, COUNT, MPI_DOUBLE, all, COUNT, spread, MPI_COMM_WORLD);
  check_gathered(all, 2);
  memset(all, 0, (size_t)world_size * COUNT * sizeof *all);
  memcpy(all + world_rank * COUNT, mine, COUNT * sizeof *mine);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, COUNT, MPI_DOUBLE, MPI_COMM_WORLD);
  check_gathered(all, 1);
  free(mine);
  free(all);
  MPI_Type_free(&spread);
}

static void check_part(const long* part, int first) {
  for (int i = 0; i < COUNT; ++i) CHECK(part[i] == operand_sum(world_size, first + i));
}

static void reduce_scatter(void) {
  const int whole = COUNT * world_size;
  long* const data = malloc((size_t)whole * sizeof *data);
  long* const part = malloc((size_t)whole * sizeof *part);
  int* const counts = malloc((size_t)world_size * sizeof *counts);
  for (int i = 0; i < whole; ++i) data[i] = operand(world_rank, i);
  for (int rank = 0; rank < world_size; ++rank) counts[rank] = COUNT;
  MPI_Reduce_scatter_block(data, part, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check_part(part, COUNT * world_rank);
  MPI_Reduce_scatter(data, part, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check_part(part, COUNT * world_rank);
  memcpy(part, data, (size_t)whole * sizeof *part);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, part, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  check_part(part, COUNT * world_rank);
  counts[0] += COUNT;
  counts[1] -= COUNT;
  MPI_Reduce_scatter(data, part, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) check_part(part + COUNT, COUNT);
  free(data);
  free(part);
  free(counts);
}

static void add_doubles(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((double*)out)[i] += ((double*)in)[i];
}

/* What stays with MPI: operations of the program's own, positions of extremes, two groups. */
static void mpi_own(void) {
  double* const data = malloc(COUNT * sizeof *data);
  for (int i = 0; i < COUNT; ++i) data[i] = operand(world_rank, i);
  MPI_Op own;
  MPI_Op_create(add_doubles, 1, &own);
  MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_DOUBLE, own, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i) CHECK(data[i] == operand_sum(world_size, i));
  MPI_Op_free(&own);
  free(data);
  struct {
    double value;
    int at;
  }* const most = calloc(COUNT, sizeof *most);
  for (int i = 0; i < COUNT; ++i) {
    most[i].value = world_rank;
    most[i].at = world_rank;
  }
  MPI_Allreduce(MPI_IN_PLACE, most, COUNT, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  for (int i = 0; i < COUNT; ++i) CHECK(most[i].at == world_size - 1);
  free(most);
  MPI_Comm half;
  MPI_Comm both;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 5, &both);
  float* const mine = floats(world_rank, COUNT);
  float* const sum = malloc(COUNT * sizeof *sum);
  MPI_Allreduce(mine, sum, COUNT, MPI_FLOAT, MPI_SUM, both);
  float expected = 0;
  for (int rank = 1 - world_rank % 2; rank < world_size; rank += 2)
    expected += (float)operand(rank, 11);
  CHECK(sum[11] == expected);
  free(mine);
  free(sum);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

/* Both halves at once, again and again: each needs a job of its own, and gives it back. */
static void halves(void) {
  for (int round = 0; round < 3; ++round) {
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &half);
    allreduce_floats(half);
    MPI_Barrier(half);
    MPI_Barrier(MPI_COMM_WORLD); /* neither gives its job back before both have one */
    MPI_Comm_free(&half);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  allreduce_floats(MPI_COMM_WORLD);
  passed("allreduce");
  allreduce_integers();
  passed("integers");
  allreduce_complex();
  passed("complex");
  reduce();
  passed("reduce");
  bcast();
  passed("bcast");
  allgather();
  passed("allgather");
  reduce_scatter();
  passed("reduce_scatter");
  MPI_Barrier(MPI_COMM_WORLD);
  passed("barrier");
  allreduce_floats(MPI_COMM_SELF);
  mpi_own();
  passed("own");
  halves();
  passed("halves");
  MPI_Finalize();
  return 0;
}
