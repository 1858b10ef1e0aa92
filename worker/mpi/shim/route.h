// Decides the route of a call: to the switch, or to MPI.
//
// The decision comes first, and depends only on values that MPI demands to be equal on all ranks of
// the communicator (collective, class of the type, operation, bytes, root), on rank 0's settings,
// and on the result of joining the communicator's job. A call that goes to MPI is checked by MPI.
// What is wrong on one rank alone, or is only there, changes no route: see Offloaded and mistake.h.
#pragma once

#include <memory>
#include <string>

#include "worker/mpi/shim/binding.h"
#include "worker/mpi/shim/call.h"
#include "worker/mpi/shim/pending.h"
#include "worker/mpi/shim/runtime.h"

namespace tributary::mpi {

// True if a call of so many bytes goes to MPI without any further check. This is the whole cost of
// most calls. Those of a profiling tool are not the program's.
inline bool stays_with_mpi(Kind kind, std::size_t bytes) {
  const Runtime* const r = runtime();
  return r == nullptr || (bytes < r->settings.threshold_of(kind) && !r->settings.log) ||
         is_forwarding();
}

// The binding whose job serves the call; null: the call goes to MPI. Binds a communicator that has
// no binding, in blocking calls. Logs the decision if the log is on.
std::shared_ptr<Binding> choose(const Call& call);
// Reports a failure, and calls the communicator's error handler; returns the call's result.
int fail(const Call& call, const Binding& binding, const std::exception& why);
// The same for a mistake of this rank: does not wait for the other ranks, to whom `work` tells it.
int fail_alone(const Call& call, Binding& binding, Offloaded work);

// Does the call, through `own` if it goes to MPI.
template <typename Own>
int carry_out(const Call& call, Own own) {
  const std::shared_ptr<Binding> binding = choose(call);
  if (binding == nullptr) return own();
  try {
    Offloaded work(call, *binding->communicator);
    if (work.mistake() != Mistake::none) return fail_alone(call, *binding, std::move(work));
    wait_driving([&](Duration limit) { return work.wait_for(limit); });
    work.finish();
    return MPI_SUCCESS;
  } catch (const std::exception& e) {
    return fail(call, *binding, e);
  }
}

template <typename Own>
int carry_out_later(Call call, MPI_Request* request, Own own) {
  call.nonblocking = true;
  std::shared_ptr<Binding> binding = choose(call);
  if (binding == nullptr) return own();
  try {
    Offloaded work(call, *binding->communicator);
    if (work.mistake() != Mistake::none) return fail_alone(call, *binding, std::move(work));
    start_pending(call.name, binding, std::move(work), request);
    return MPI_SUCCESS;
  } catch (const std::exception& e) {
    return fail(call, *binding, e);
  }
}

}  // namespace tributary::mpi

// Defines an MPI function under both of its names; the body follows. See mpi_functions.h.
#define TRIBUTARY_MPI_DEFINE(name, ...)                                             \
  extern "C" __attribute__((visibility("default"))) decltype(MPI_##name) MPI_##name \
      __attribute__((alias("PMPI_" #name)));                                        \
  extern "C" __attribute__((visibility("default"))) int PMPI_##name(__VA_ARGS__)
