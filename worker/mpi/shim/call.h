// One collective call of the program, before and after it is decided where it goes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/mpi/settings.h"
#include "worker/mpi/shim/mpi_functions.h"
#include "worker/mpi/shim/mpi_types.h"

namespace tributary::mpi {

// As the program made it. Where ranks may differ in type and count, what counts is their bytes.
struct Call {
  const char* name = nullptr;  // "MPI_Allreduce"
  Kind kind = Kind::allreduce;
  const void* send = nullptr;  // may be MPI_IN_PLACE
  void* receive = nullptr;     // bcast: the buffer
  std::size_t bytes = 0;       // of the data, or of all ranks' parts together
  std::size_t count = 0;       // MPI's elements, of one part
  const ElementType* type = nullptr;
  std::optional<wire::ReduceOp> op;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  // Of what moves bytes only: how they lie in memory.
  MPI_Datatype send_type = MPI_DATATYPE_NULL;
  MPI_Datatype receive_type = MPI_DATATYPE_NULL;
  int send_count = 0;
  int receive_count = 0;
  bool nonblocking = false;
};

// An offloaded call: what the switch works on, and what is to be done with the result.
class Offloaded {
 public:
  // Copies or packs what must not be where the program has it, and starts. Throws what
  // Communicator::start() does.
  Offloaded(const Call& call, Communicator& communicator);
  [[nodiscard]] Request& request() { return request_; }
  // Of one that is done: puts the result where the program wants it. Throws CommunicatorError.
  void finish();

 private:
  void reduce_in_place(const Call& call, CollectiveCall& c, bool receives);
  void broadcast(const Call& call, CollectiveCall& c, bool sends);
  void all_gather(const Call& call, CollectiveCall& c, std::uint32_t rank, std::uint32_t size);
  void reduce_scatter(const Call& call, CollectiveCall& c);

  Request request_;
  std::vector<std::byte> input_;   // a copy, where the original is in the way or has gaps
  std::vector<std::byte> output_;  // the result, where it cannot be made in place
  void* unpack_to_ = nullptr;
  int unpack_count_ = 0;
  MPI_Datatype unpack_type_ = MPI_DATATYPE_NULL;  // null: output_ is copied as it is
};

}  // namespace tributary::mpi
