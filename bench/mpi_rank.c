/* One rank of suite `mpi`: an ordinary MPI program that knows nothing of Tributary.
 *
 *   mpi_rank COLLECTIVE BYTES ITERATIONS [BYTES ITERATIONS ...]
 *
 * COLLECTIVE is allreduce, reduce, bcast, allgather or reduce_scatter; BYTES are those of the whole
 * data. For each pair rank 0 prints "BYTES SECONDS VERIFIED": the mean time of a call with float32,
 * which lasts until its slowest rank has returned, and whether every element that the last one gave
 * was right everywhere.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
  const char* collective;
  const float* data;
  float* result;
  size_t count; /* elements of the whole */
  int rank, ranks;
};

static int value_of(int rank, size_t i) {
  return (int)((i * 7 + (size_t)rank * 13) % 1000);
}

static int is(const struct work* w, const char* name) {
  return strcmp(w->collective, name) == 0;
}

static void call(const struct work* w) {
  const int count = (int)w->count;
  const int part = count / w->ranks;
  const MPI_Comm comm = MPI_COMM_WORLD;
  if (is(w, "allreduce")) {
    MPI_Allreduce(w->data, w->result, count, MPI_FLOAT, MPI_SUM, comm);
  } else if (is(w, "reduce")) {
    MPI_Reduce(w->data, w->result, count, MPI_FLOAT, MPI_SUM, 0, comm);
  } else if (is(w, "bcast")) {
    MPI_Bcast(w->result, count, MPI_FLOAT, 0, comm);
  } else if (is(w, "allgather")) {
    MPI_Allgather(w->data, part, MPI_FLOAT, w->result, part, MPI_FLOAT, comm);
  } else {
    MPI_Reduce_scatter_block(w->data, w->result, part, MPI_FLOAT, MPI_SUM, comm);
  }
}

static int sum_of(const struct work* w, size_t i) {
  int sum = 0;
  for (int rank = 0; rank < w->ranks; ++rank) sum += value_of(rank, i);
  return sum;
}

static int expected(const struct work* w, size_t i) {
  const size_t part = w->count / (size_t)w->ranks;
  if (is(w, "bcast")) return value_of(0, i);
  if (is(w, "allgather")) return value_of((int)(i / part), i % part);
  if (is(w, "reduce_scatter")) return sum_of(w, (size_t)w->rank * part + i);
  return sum_of(w, i);
}

static int is_right(const struct work* w) {
  size_t count = w->count;
  if (is(w, "reduce") && w->rank != 0) return 1;
  if (is(w, "reduce_scatter")) count /= (size_t)w->ranks;
  for (size_t i = 0; i < count; ++i)
    if (w->result[i] != (float)expected(w, i)) return 0;
  return 1;
}

/* The slowest rank's seconds for each call, added up. */
static double measure(const struct work* w, int iterations) {
  double total = 0;
  for (int i = 0; i < iterations; ++i) {
    if (is(w, "bcast") && w->rank == 0)
      memcpy(w->result, w->data, w->count * sizeof(float));
    else
      memset(w->result, 0, w->count * sizeof(float));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    call(w);
    double seconds = MPI_Wtime() - begun;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    total += seconds;
  }
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct work w = {argc > 1 ? argv[1] : "", NULL, NULL, 0, 0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  for (int at = 2; at + 1 < argc; at += 2) {
    w.count = strtoul(argv[at], NULL, 10) / sizeof(float);
    const int iterations = atoi(argv[at + 1]);
    float* const data = malloc(w.count * sizeof *data);
    w.result = malloc(w.count * sizeof *w.result);
    if (data == NULL || w.result == NULL || iterations < 1) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < w.count; ++i) data[i] = (float)value_of(w.rank, i);
    w.data = data;
    measure(&w, 1);
    const double seconds = measure(&w, iterations) / iterations;
    int right = is_right(&w);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (w.rank == 0) printf("%zu %.9f %d\n", w.count * sizeof(float), seconds, right);
    free(data);
    free(w.result);
  }
  MPI_Finalize();
  return 0;
}
