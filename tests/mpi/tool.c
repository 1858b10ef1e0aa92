/* A profiling tool that is preloaded behind the library: counts what it sees of some calls, and
 * passes them on by their PMPI names. Its own sum at the end is no call of the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { INIT, SEND, ALLREDUCE, BARRIER, WAITALL, FINALIZE, CALLS };
static const char* const names[CALLS] = {"Init",    "Send",    "Allreduce",
                                         "Barrier", "Waitall", "Finalize"};
static long seen[CALLS];

static void note(int call) {
  if (call != INIT && seen[INIT] == 0) {
    fprintf(stderr, "tool: MPI_%s before MPI_Init\n", names[call]);
    abort();
  }
  ++seen[call];
}

int MPI_Init(int* argc, char*** argv) {
  note(INIT);
  const int result = PMPI_Init(argc, argv);
  PMPI_Barrier(MPI_COMM_WORLD);
  return result;
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  note(SEND);
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  note(ALLREDUCE);
  return PMPI_Allreduce(send, receive, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  note(BARRIER);
  return PMPI_Barrier(comm);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  note(WAITALL);
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Finalize(void) {
  long all[CALLS];
  int rank = 0;
  note(FINALIZE);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Allreduce(seen, all, CALLS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int call = 0; rank == 0 && call < CALLS; ++call)
    printf("tool %s %ld\n", names[call], all[call]);
  fflush(stdout);
  return PMPI_Finalize();
}
