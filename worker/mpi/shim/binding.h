// The binding of an MPI communicator: a job of the switch, or the reason why it has none.
//
//   (first offloadable blocking call, or MPI_Init) ──bind()──▶ bound ──MPI_Comm_free──▶ closed
//                                                     └──────▶ refused: a final answer
//
// It is an attribute of the communicator, which a duplicate does not inherit. Binding is
// collective, so all ranks have the same result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/mpi/shim/mpi_functions.h"

namespace tributary::mpi {

class Offloaded;

struct Binding {
  std::uint32_t job = 0;
  // Calls that have failed on this rank alone, and of which the others learn by their votes. They
  // outlive the communicator.
  std::vector<std::shared_ptr<Offloaded>> refused;
  std::unique_ptr<Communicator> communicator;  // null: refused
  std::string why;                             // why it is refused
  ~Binding();
};

// The communicator's binding, or null. Other threads may free other communicators meanwhile.
std::shared_ptr<Binding> find_binding(MPI_Comm comm);
// Makes a binding; blocks until all ranks of the communicator do the same.
std::shared_ptr<Binding> bind(MPI_Comm comm);

// After MPI_Init, and before MPI_Finalize.
void open_bindings();
void close_bindings();

}  // namespace tributary::mpi
