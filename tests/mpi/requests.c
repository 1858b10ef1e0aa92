/* Nonblocking collectives beside messages, and every way to wait for them; with an argument: more
 * of them than a rank has open ops. */
#include <string.h>

#include "tests/mpi/check.h"

enum { COUNT = 20011, OPS = 4 };

static float* data[OPS];

/* One blocking sum first: a communicator's job is bound by it. */
static void start(MPI_Request requests[]) {
  for (int op = 0; op < OPS; ++op) {
    for (int i = 0; i < COUNT; ++i) data[op][i] = (float)operand(world_rank, i + op);
    MPI_Iallreduce(MPI_IN_PLACE, data[op], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                   &requests[op]);
  }
}

static void check(int op) {
  for (int i = 0; i < COUNT; ++i) CHECK(data[op][i] == (float)operand_sum(world_size, i + op));
}

static void waits(void) {
  MPI_Request requests[OPS];
  MPI_Status statuses[OPS];
  int indices[OPS];
  int flag = 0;
  start(requests);
  for (int op = OPS - 1; op >= 0; --op) {
    CHECK(MPI_Wait(&requests[op], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(requests[op] == MPI_REQUEST_NULL);
    check(op);
  }
  start(requests);
  CHECK(MPI_Waitall(OPS, requests, statuses) == MPI_SUCCESS);
  for (int op = 0; op < OPS; ++op) check(op);
  start(requests);
  for (int left = OPS; left > 0; --left) {
    int index = MPI_UNDEFINED;
    CHECK(MPI_Waitany(OPS, requests, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check(index);
  }
  start(requests);
  for (int left = OPS, done = 0; left > 0; left -= done) {
    CHECK(MPI_Waitsome(OPS, requests, &done, indices, statuses) == MPI_SUCCESS);
    for (int i = 0; i < done; ++i) check(indices[i]);
  }
  start(requests);
  for (int op = 0; op < OPS; ++op) {
    do CHECK(MPI_Test(&requests[op], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    while (!flag);
    check(op);
  }
  start(requests);
  do MPI_Testall(OPS, requests, &flag, statuses);
  while (!flag);
  for (int op = 0; op < OPS; ++op) check(op);
  start(requests);
  for (int left = OPS; left > 0; left -= flag) {
    int index = MPI_UNDEFINED;
    MPI_Testany(OPS, requests, &index, &flag, MPI_STATUS_IGNORE);
    if (flag) check(index);
  }
  start(requests);
  for (int left = OPS, done = 0; left > 0; left -= done) {
    MPI_Testsome(OPS, requests, &done, indices, statuses);
    for (int i = 0; i < done; ++i) check(indices[i]);
  }
  start(requests);
  do MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
  while (!flag);
  check(0);
  MPI_Waitall(OPS, requests, statuses);
}

/* A message among them: it must not wait for the collective, nor the other way round. */
static void beside_messages(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  const int next = (world_rank + 1) % world_size;
  const int previous = (world_rank + world_size - 1) % world_size;
  int got = -1;
  memset(data[0], 0, COUNT * sizeof *data[0]);
  MPI_Iallreduce(MPI_IN_PLACE, data[0], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&got, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&world_rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, statuses);
  CHECK(got == previous);
}

/* Rank 0 reaches the sum before rank 1 can send all of a long message: it needs rank 0's MPI. */
static void progress(void) {
  enum { LONG = 8 << 20 };
  char* const message = calloc(LONG, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (world_rank == 0) MPI_Irecv(message, LONG, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 1) MPI_Send(message, LONG, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, data[0], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(message);
}

static void others(void) {
  MPI_Request r[5];
  MPI_Status statuses[4];
  double* const all = calloc((size_t)world_size * COUNT, sizeof *all);
  double* const part = calloc(COUNT, sizeof *part);
  int* const value = calloc(COUNT, sizeof *value);
  double* const sum = calloc(COUNT, sizeof *sum);
  double* const mine = calloc(COUNT, sizeof *mine);
  for (int i = 0; i < COUNT; ++i) mine[i] = operand(world_rank, i);
  for (int i = 0; i < COUNT; ++i) value[i] = world_rank == 1 ? i : -1;
  MPI_Ireduce(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD, &r[0]);
  MPI_Ibcast(value, COUNT, MPI_INT, 1, MPI_COMM_WORLD, &r[1]);
  MPI_Iallgather(mine, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, MPI_COMM_WORLD, &r[2]);
  MPI_Ibarrier(MPI_COMM_WORLD, &r[3]);
  MPI_Waitall(4, r, statuses);
  for (int i = 0; i < COUNT; ++i) {
    CHECK(sum[i] == (world_rank == 1 ? operand_sum(world_size, i) : 0));
    CHECK(value[i] == i);
    for (int rank = 0; rank < world_size; ++rank) CHECK(all[rank * COUNT + i] == operand(rank, i));
  }
  MPI_Ireduce_scatter_block(all, part, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[4]);
  MPI_Wait(&r[4], MPI_STATUS_IGNORE);
  for (int i = 0; i < COUNT; ++i) CHECK(part[i] == world_size * operand(world_rank, i));
  free(all);
  free(part);
  free(value);
  free(sum);
  free(mine);
}

/* Rank 1 starts its own only when rank 0 has started all: nonblocking calls wait for no rank. */
static void many(void) {
  enum { MANY = 5000 };
  MPI_Request* const requests = calloc(MANY, sizeof *requests);
  MPI_Status* const statuses = calloc(MANY, sizeof *statuses);
  int told = 0;
  if (world_rank != 0) MPI_Recv(&told, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < MANY; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
  for (int rank = 1; world_rank == 0 && rank < world_size; ++rank)
    MPI_Send(&told, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
  CHECK(MPI_Waitall(MANY, requests, statuses) == MPI_SUCCESS);
  free(statuses);
  free(requests);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int op = 0; op < OPS; ++op) data[op] = calloc(COUNT, sizeof *data[op]);
  MPI_Allreduce(MPI_IN_PLACE, data[0], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (argc > 1) {
    many();
    passed("many");
  } else {
    waits();
    passed("waits");
    beside_messages();
    passed("messages");
    progress();
    passed("progress");
    others();
    passed("others");
  }
  for (int op = 0; op < OPS; ++op) free(data[op]);
  MPI_Finalize();
  return 0;
}
