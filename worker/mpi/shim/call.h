// One collective call of the program, before and after its route is decided.
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

// The program's call. Where ranks may differ in type and count, their bytes count.
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
  // For calls that only move bytes: their layout in memory.
  MPI_Datatype send_type = MPI_DATATYPE_NULL;
  MPI_Datatype receive_type = MPI_DATATYPE_NULL;
  int send_count = 0;
  int receive_count = 0;
  bool nonblocking = false;
};

// An offloaded call: the switch's op, and what to do with the result.
class Offloaded {
 public:
  // Copies or packs data that cannot stay in place, and starts the op. Throws like
  // Communicator::start().
  Offloaded(const Call& call, Communicator& communicator);
  [[nodiscard]] Request& request() { return request_; }
  // For a call that is done: puts the result into the program's memory. Throws CommunicatorError.
  void finish();

 private:
  void reduce_in_place(const Call& call, CollectiveCall& c, bool receives);
  void broadcast(const Call& call, CollectiveCall& c, bool sends);
  void all_gather(const Call& call, CollectiveCall& c, std::uint32_t rank, std::uint32_t size);
  void reduce_scatter(const Call& call, CollectiveCall& c);

  Request request_;
  std::vector<std::byte> input_;   // a copy, if the original is in the way or has gaps
  std::vector<std::byte> output_;  // the result, if it cannot be made in place
  void* unpack_to_ = nullptr;
  int unpack_count_ = 0;
  MPI_Datatype unpack_type_ = MPI_DATATYPE_NULL;  // null: output_ is copied unchanged
};

}  // namespace tributary::mpi
