// Offloaded calls of nonblocking collectives, as generalized requests of MPI.
//
//   MPI_Iallreduce ─▶ in flight ──(the switch is done)──▶ MPI_Wait, MPI_Test, ...: finished, the
//                                                         request completed, then MPI's own Wait
//
// MPI completes nothing of its own accord here: the calls that look at requests do it first, on the
// thread that calls them. So any level of thread support is enough.
#pragma once

#include <memory>

#include "worker/mpi/shim/binding.h"
#include "worker/mpi/shim/call.h"

namespace tributary::mpi {

// True where there may be some; cheap.
bool any_pending();
// Starts the call; *request is MPI's. Throws what Communicator::start() does.
void start_pending(const Call& call, std::shared_ptr<Binding> binding, MPI_Request* request);
// Completes the requests of all that the switch is done with.
void complete_finished();
bool is_pending(MPI_Request request);
// Waits until this one is completed, driving MPI. One that is not in flight: returns at once.
void wait_pending(MPI_Request request);
// Waits a moment for one of those among `requests`; false: none is among them.
bool wait_for_some(int count, const MPI_Request requests[]);
// Waits for all.
void finish_pending();

// Tells of a failed call, and returns the MPI error code that stands for it.
int error_of(const char* name, const Binding& binding, const std::exception& e);

}  // namespace tributary::mpi
