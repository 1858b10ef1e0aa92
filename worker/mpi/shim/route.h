// Decides the route of a call: to the switch, or to MPI.
//
// The decision depends only on values that all ranks of the communicator share: collective, type
// and operation, bytes, rank 0's settings, and the result of joining the communicator's job.
#pragma once

#include <memory>
#include <string>

#include "worker/mpi/shim/binding.h"
#include "worker/mpi/shim/call.h"
#include "worker/mpi/shim/pending.h"
#include "worker/mpi/shim/runtime.h"

namespace tributary::mpi {

// True if a call of so many bytes goes to MPI without any further check. This is the whole cost of
// most calls.
inline bool stays_with_mpi(Kind kind, std::size_t bytes) {
  const Runtime* const r = runtime();
  return r == nullptr || (bytes < r->settings.threshold_of(kind) && !r->settings.log);
}

// The binding whose job serves the call; null: the call goes to MPI. Binds a communicator that has
// no binding, in blocking calls. Logs the decision if the log is on.
std::shared_ptr<Binding> choose(const Call& call);
// The call was to be offloaded, but the library refuses it: MPI does it.
void log_refusal(const Call& call, const std::exception& why);
// Reports a failure, and calls the communicator's error handler; returns the call's result.
int fail(const Call& call, const Binding& binding, const std::exception& why);

// Does the call, through `own` if it goes to MPI.
template <typename Own>
int carry_out(const Call& call, Own own) {
  const std::shared_ptr<Binding> binding = choose(call);
  if (binding == nullptr) return own();
  std::optional<Offloaded> work;
  try {
    work.emplace(call, *binding->communicator);
  } catch (const std::invalid_argument& e) {
    log_refusal(call, e);
    return own();
  } catch (const std::exception& e) {
    return fail(call, *binding, e);
  }
  try {
    wait_driving(work->request());
    work->finish();
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
    start_pending(call, binding, request);
    return MPI_SUCCESS;
  } catch (const std::invalid_argument& e) {
    log_refusal(call, e);
    return own();
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
