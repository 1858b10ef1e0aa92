/* Buffers in the memory of a GPU, which only its driver may touch: device.
 *
 * libcuda.so.1 is the tests': touching its device memory is a crash. Ranks keep their buffers
 * in different places, and their calls go the same way. */
#include <dlfcn.h>
#include <string.h>

#include "tests/mpi/check.h"

enum { COUNT = 20011 };

static void* (*guarded)(size_t);
static void (*store)(void*, const void*, size_t);
static void (*load)(void*, const void*, size_t);

/* A buffer in device memory, or with `plain` in host memory. */
struct place {
  void* memory;
  int plain;
};

static struct place place_of(const void* data, size_t bytes, int plain) {
  struct place p = {plain ? malloc(bytes) : guarded(bytes), plain};
  if (plain)
    memcpy(p.memory, data, bytes);
  else
    store(p.memory, data, bytes);
  return p;
}

static void contents(struct place p, void* out, size_t bytes) {
  if (p.plain)
    memcpy(out, p.memory, bytes);
  else
    load(out, p.memory, bytes);
}

static double* values(int rank, int count) {
  double* const data = malloc((size_t)count * sizeof *data);
  for (int i = 0; i < count; ++i) data[i] = operand(rank, i);
  return data;
}

static void check_sums(struct place p, int offset) {
  double* const got = malloc(COUNT * sizeof *got);
  contents(p, got, COUNT * sizeof *got);
  for (int i = 0; i < COUNT; ++i) CHECK(got[i] == operand_sum(world_size, i + offset));
  free(got);
}

/* plain: of the send buffer, of the receive buffer. */
static void reductions(int plain_send, int plain_receive) {
  const size_t bytes = COUNT * sizeof(double);
  double* const data = values(world_rank, COUNT * world_size);
  double* const zeros = calloc((size_t)COUNT, sizeof *zeros);
  const struct place in = place_of(data, bytes, plain_send);
  const struct place out = place_of(zeros, bytes, plain_receive);
  MPI_Allreduce(in.memory, out.memory, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check_sums(out, 0);
  const struct place both = place_of(data, bytes, plain_receive);
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, both.memory, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_sums(both, 0);
  const struct place reduced = place_of(zeros, bytes, plain_receive);
  MPI_Reduce(in.memory, reduced.memory, COUNT, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
  if (world_rank == 2) check_sums(reduced, 0);
  const struct place whole = place_of(data, bytes * (size_t)world_size, plain_send);
  const struct place part = place_of(zeros, bytes, plain_receive);
  MPI_Reduce_scatter_block(whole.memory, part.memory, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check_sums(part, world_rank * COUNT);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, whole.memory, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check_sums(whole, world_rank * COUNT);
  free(data);
  free(zeros);
}

static void check_operands(const double* got, int rank) {
  for (int i = 0; i < COUNT; ++i) CHECK(got[i] == operand(rank, i));
}

static void moves(int plain_send, int plain_receive) {
  const size_t bytes = COUNT * sizeof(double);
  double* const data = values(world_rank, COUNT);
  double* const got = calloc((size_t)COUNT * (size_t)world_size, sizeof *got);
  const struct place message = place_of(data, bytes, plain_send);
  MPI_Bcast(message.memory, COUNT, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  contents(message, got, bytes);
  check_operands(got, 1);
  const struct place own = place_of(data, bytes, plain_send);
  const struct place all = place_of(got, bytes * (size_t)world_size, plain_receive);
  MPI_Allgather(own.memory, COUNT, MPI_DOUBLE, all.memory, COUNT, MPI_DOUBLE, MPI_COMM_WORLD);
  contents(all, got, bytes * (size_t)world_size);
  for (int rank = 0; rank < world_size; ++rank) check_operands(got + rank * COUNT, rank);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.memory, COUNT, MPI_DOUBLE, MPI_COMM_WORLD);
  contents(all, got, bytes * (size_t)world_size);
  for (int rank = 0; rank < world_size; ++rank) check_operands(got + rank * COUNT, rank);
  free(data);
  free(got);
}

/* Every second element; those between stay. */
static void gaps(int plain) {
  const size_t bytes = 2 * COUNT * sizeof(double);
  MPI_Datatype seconds;
  MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &seconds);
  MPI_Type_commit(&seconds);
  double* const data = values(world_rank, 2 * COUNT);
  double* const got = malloc(bytes);
  const struct place p = place_of(data, bytes, plain);
  MPI_Bcast(p.memory, 1, seconds, 3, MPI_COMM_WORLD);
  contents(p, got, bytes);
  for (int i = 0; i < 2 * COUNT; ++i) CHECK(got[i] == operand(i % 2 == 0 ? 3 : world_rank, i));
  MPI_Type_free(&seconds);
  free(data);
  free(got);
}

/* A copy that the driver refuses on one rank fails the call on all, and the next one is right. */
static void broken_copy(void* driver) {
  double* const data = values(world_rank, COUNT);
  const struct place in = place_of(data, COUNT * sizeof *data, 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  void (*fail)(int) = (void (*)(int))dlsym(driver, "fake_cuda_fail_reads");
  if (world_rank == 1) fail(1);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, in.memory, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) !=
        MPI_SUCCESS);
  fail(0);
  const struct place next = place_of(data, COUNT * sizeof *data, 0);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, next.memory, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) ==
        MPI_SUCCESS);
  check_sums(next, 0);
  free(data);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 1);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(driver != NULL);
  guarded = (void* (*)(size_t))dlsym(driver, "fake_cuda_guarded");
  store = (void (*)(void*, const void*, size_t))dlsym(driver, "fake_cuda_store");
  load = (void (*)(void*, const void*, size_t))dlsym(driver, "fake_cuda_load");
  CHECK(guarded != NULL && store != NULL && load != NULL);
  for (int plain = 0; plain < 4; ++plain) {
    /* Rank by rank elsewhere. */
    const int place = (plain + world_rank) % 4;
    reductions(place & 1, place >> 1);
    moves(place & 1, place >> 1);
    gaps(place & 1);
  }
  passed("device");
  broken_copy(driver);
  passed("broken copy");
  MPI_Finalize();
  return 0;
}
