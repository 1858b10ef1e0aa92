// Offloaded nonblocking collectives, as generalized requests of MPI.
//
//   MPI_Iallreduce ─▶ in flight ──(the switch is done)──▶ MPI_Wait, MPI_Test, ...: finished, the
//                                                         request completed, then MPI's own Wait
//
// MPI does not complete these requests by itself: calls that look at requests do it first, on their
// own thread. So any level of thread support is enough.
#pragma once

#include <memory>

#include "worker/mpi/shim/binding.h"
#include "worker/mpi/shim/call.h"

namespace tributary::mpi {

// True if some may be pending; cheap.
bool any_pending();
// Takes over a call whose ops are in flight; *request is MPI's.
void start_pending(const char* name, std::shared_ptr<Binding> binding, Offloaded work,
                   MPI_Request* request);
// Completes the requests of all ops that the switch has finished.
void complete_finished();
bool is_pending(MPI_Request request);
// Waits until this request is completed, driving MPI. Returns at once if it is not in flight.
void wait_pending(MPI_Request request);
// Waits a moment for one of those among `requests`; returns false if none is among them.
bool wait_for_some(int count, const MPI_Request requests[]);
// Waits for all of them.
void finish_pending();

// Reports a failed call, and returns its MPI error code.
int error_of(const char* name, const Binding& binding, const std::exception& e);

}  // namespace tributary::mpi
