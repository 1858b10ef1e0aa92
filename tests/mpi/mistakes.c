/* Mistakes in calls: mistakes HOW.
 *
 *   alone  one rank makes one that the others cannot see: its class there, an error on all ranks,
 * and the next call is right all    every rank makes the same; prints the classes, which are those
 * of MPI without the library
 */
#include <string.h>

#include "tests/mpi/check.h"

enum { COUNT = 5000, WRONG = 1 };

static MPI_Comm comm;
static int handled;
static double* mine;
static double* other;
static double* all;

static void handler(MPI_Comm* failed, int* code, ...) {
  (void)failed;
  (void)code;
  ++handled;
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

static void fill(void) {
  for (int i = 0; i < COUNT; ++i) mine[i] = operand(world_rank, i);
}

/* The call has failed on every rank, on the wrong one with this class, and has called the handler
 * once. Others can be called. */
static void check_failure(const char* what, int result, int class) {
  CHECK(handled == 1);
  handled = 0;
  CHECK(result != MPI_SUCCESS);
  if (world_rank == WRONG) CHECK(class_of(result) == class);
  fill();
  memset(other, 0, COUNT * sizeof *other);
  CHECK(MPI_Allreduce(mine, other, COUNT, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS);
  for (int i = 0; i < COUNT; ++i) CHECK(other[i] == operand_sum(world_size, i));
  CHECK(handled == 0);
  passed(what);
}

static void reductions(void) {
  const int wrong = world_rank == WRONG;
  check_failure("null", MPI_Allreduce(wrong ? NULL : mine, other, COUNT, MPI_DOUBLE, MPI_SUM, comm),
                MPI_ERR_BUFFER);
  check_failure("alias",
                MPI_Allreduce(mine, wrong ? mine : other, COUNT, MPI_DOUBLE, MPI_SUM, comm),
                MPI_ERR_BUFFER);
  check_failure("overlap",
                MPI_Allreduce(all, wrong ? all + 1 : other, COUNT, MPI_DOUBLE, MPI_SUM, comm),
                MPI_ERR_BUFFER);
  check_failure("in place at another root",
                MPI_Reduce(wrong ? MPI_IN_PLACE : mine, other, COUNT, MPI_DOUBLE, MPI_SUM, 0, comm),
                MPI_ERR_BUFFER);
  check_failure("alias at the root",
                MPI_Reduce(mine, wrong ? mine : other, COUNT, MPI_DOUBLE, MPI_MAX, WRONG, comm),
                MPI_ERR_BUFFER);
  check_failure(
      "part in the input",
      MPI_Reduce_scatter_block(all, wrong ? all + 3 : other, COUNT, MPI_DOUBLE, MPI_SUM, comm),
      MPI_ERR_BUFFER);
}

static void moves(void) {
  const int wrong = world_rank == WRONG;
  check_failure("null at the root", MPI_Bcast(wrong ? NULL : mine, COUNT, MPI_DOUBLE, WRONG, comm),
                MPI_ERR_BUFFER);
  check_failure("null at another rank", MPI_Bcast(wrong ? NULL : mine, COUNT, MPI_DOUBLE, 0, comm),
                MPI_ERR_BUFFER);
  check_failure("bcast in place",
                MPI_Bcast(wrong ? MPI_IN_PLACE : mine, COUNT, MPI_DOUBLE, 0, comm), MPI_ERR_BUFFER);
  check_failure(
      "sends too little",
      MPI_Allgather(mine, wrong ? COUNT - 1 : COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, comm),
      MPI_ERR_COUNT);
  check_failure("negative count",
                MPI_Allgather(mine, wrong ? -1 : COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, comm),
                MPI_ERR_COUNT);
  check_failure("no type",
                MPI_Allgather(mine, COUNT, wrong ? MPI_DATATYPE_NULL : MPI_DOUBLE, all, COUNT,
                              MPI_DOUBLE, comm),
                MPI_ERR_TYPE);
  check_failure("own part",
                MPI_Allgather(wrong ? all + WRONG * COUNT : mine, COUNT, MPI_DOUBLE, all, COUNT,
                              MPI_DOUBLE, comm),
                MPI_ERR_BUFFER);
  MPI_Datatype pairs;
  MPI_Type_vector(COUNT / 2, 1, 2, MPI_DOUBLE, &pairs);
  if (world_rank != WRONG) MPI_Type_commit(&pairs);
  check_failure("type that is not committed", MPI_Bcast(mine, 1, pairs, WRONG, comm), MPI_ERR_TYPE);
  MPI_Type_free(&pairs);
}

/* The wrong rank has its error at once, without waiting for others; they have it in MPI_Wait,
 * beside results of calls before and after. */
static void nonblocking(void) {
  const int wrong = world_rank == WRONG;
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  char begin = 1;
  double* const third = malloc(COUNT * sizeof *third);
  /* Generalized requests have no communicator: their errors go to these. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  fill();
  if (!wrong) MPI_Recv(&begin, 1, MPI_CHAR, WRONG, 5, comm, MPI_STATUS_IGNORE);
  CHECK(MPI_Iallreduce(mine, other, COUNT, MPI_DOUBLE, MPI_SUM, comm, &r[0]) == MPI_SUCCESS);
  const int result =
      MPI_Iallreduce(MPI_IN_PLACE, wrong ? other : all, COUNT, MPI_DOUBLE, MPI_SUM, comm, &r[1]);
  CHECK(wrong ? class_of(result) == MPI_ERR_BUFFER : result == MPI_SUCCESS);
  if (wrong) CHECK(r[1] == MPI_REQUEST_NULL);
  for (int i = 0; i < world_size && wrong; ++i)
    if (i != WRONG) MPI_Send(&begin, 1, MPI_CHAR, i, 5, comm);
  CHECK(MPI_Iallreduce(mine, third, COUNT, MPI_DOUBLE, MPI_SUM, comm, &r[2]) == MPI_SUCCESS);
  CHECK(MPI_Wait(&r[0], &statuses[0]) == MPI_SUCCESS);
  CHECK(MPI_Wait(&r[2], &statuses[2]) == MPI_SUCCESS);
  for (int i = 0; i < COUNT; ++i) CHECK(other[i] == operand_sum(world_size, i));
  for (int i = 0; i < COUNT; ++i) CHECK(third[i] == operand_sum(world_size, i));
  if (!wrong) CHECK(MPI_Wait(&r[1], &statuses[1]) != MPI_SUCCESS);
  handled = 1;
  check_failure("in use", wrong ? result : MPI_ERR_OTHER, MPI_ERR_BUFFER);
  free(third);
}

static void alone(void) {
  MPI_Errhandler errors;
  MPI_Comm_create_errhandler(handler, &errors);
  MPI_Comm_set_errhandler(comm, errors);
  reductions();
  moves();
  nonblocking();
  MPI_Errhandler_free(&errors);
}

static void print_class(const char* what, int result) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(class_of(result), text, &length);
  printf("rank %d: %s: %s\n", world_rank, what, text);
  fflush(stdout);
}

/* Aliases are none of them with Open MPI, which takes them. A negative count of MPI_Allreduce is
 * not either: MPICH 4.0.2 itself crashes. */
static void by_all(void) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  print_class("bits of floats", MPI_Allreduce(mine, other, 10, MPI_DOUBLE, MPI_BAND, comm));
  print_class("null op", MPI_Allreduce(mine, other, 10, MPI_DOUBLE, MPI_OP_NULL, comm));
  print_class("null type", MPI_Allreduce(mine, other, 10, MPI_DATATYPE_NULL, MPI_SUM, comm));
  print_class("negative count", MPI_Bcast(mine, -1, MPI_DOUBLE, 0, comm));
  print_class("negative root", MPI_Bcast(mine, 10, MPI_DOUBLE, -7, comm));
  print_class("root beyond", MPI_Reduce(mine, other, 10, MPI_DOUBLE, MPI_SUM, world_size, comm));
#ifdef MPICH_VERSION
  print_class("alias", MPI_Allreduce(mine, mine, 10, MPI_DOUBLE, MPI_SUM, comm));
  print_class("own part",
              MPI_Allgather(all + world_rank * 10, 10, MPI_DOUBLE, all, 10, MPI_DOUBLE, comm));
  print_class("alias of a scatter",
              MPI_Reduce_scatter_block(all, all, 10, MPI_DOUBLE, MPI_SUM, comm));
#endif
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc == 2);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  mine = calloc(COUNT, sizeof *mine);
  other = calloc(COUNT, sizeof *other);
  all = calloc((size_t)world_size * COUNT + 1, sizeof *all);
  /* A nonblocking call of a communicator without a job would be MPI's. */
  MPI_Allreduce(mine, other, COUNT, MPI_DOUBLE, MPI_SUM, comm);
  if (strcmp(argv[1], "alone") == 0)
    alone();
  else
    by_all();
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
