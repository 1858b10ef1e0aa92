// One collective call of the program, before and after its route is decided.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/mpi/settings.h"
#include "worker/mpi/shim/buffers.h"
#include "worker/mpi/shim/mistake.h"
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
  // Their layout in memory.
  MPI_Datatype send_type = MPI_DATATYPE_NULL;
  MPI_Datatype receive_type = MPI_DATATYPE_NULL;
  int send_count = 0;
  int receive_count = 0;
  bool nonblocking = false;
};

// An offloaded call: the switch's op, a vote, and what to do with the result.
//
// A rank may find that it cannot use its own arguments (mistake.h). No packet fails one op alone,
// and a rank that sends nothing would have the others wait. So each op is two, which are in flight
// together: the call's data, for which the rank then sends zeros, and a vote, a maximum over one
// int64 of each rank: 0, or what the rank's mistake is and which rank it is. Every rank looks at
// the vote's result before it uses the data's, so that all fail the same call and only that one,
// and know why. The vote costs one more small packet each way for each call, and no more round
// trips; an agreement through MPI would cost a collective of MPI's in every call, and a message
// from the rank could come after the result.
class Offloaded {
 public:
  // Copies or packs data that cannot stay in place, and starts the ops. Throws like
  // Communicator::start(), but for mistakes of this rank alone: see mistake().
  Offloaded(const Call& call, Communicator& communicator);
  // Not `none`: the call has failed on this rank. The object must live until it is done, or the
  // communicator is gone: the zeros in it are being sent.
  [[nodiscard]] Mistake mistake() const { return mistake_; }
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] bool done() const { return request_.done() && vote_.done(); }
  // Waits for both ops. Returns true if they are done, failed or not.
  bool wait_for(Duration limit);
  // For a call that is done: puts the result into the program's memory. Throws CommunicatorError if
  // the op failed, and std::runtime_error if some rank made a mistake.
  void finish();

 private:
  void start(const Call& program, Communicator& communicator);
  void start_zeros(const Call& call, Communicator& communicator);
  void start_vote(Communicator& communicator);
  Call with_stand_ins(Call call, std::uint32_t rank, std::uint32_t size);
  void reduce_in_place(const Call& call, CollectiveCall& c, bool receives);
  void broadcast(const Call& call, CollectiveCall& c, bool sends);
  void all_gather(const Call& call, CollectiveCall& c, std::uint32_t rank, std::uint32_t size);
  void reduce_scatter(const Call& call, CollectiveCall& c);

  Request request_;
  Request vote_;
  // The vote's memory, input and result. It stays where it is when the object is moved.
  std::unique_ptr<std::int64_t> ballot_ = std::make_unique<std::int64_t>(0);
  Mistake mistake_ = Mistake::none;
  std::string why_;  // the mistake in words
  StandIn send_;
  StandIn receive_;
  std::size_t give_back_ = 0;      // bytes of the result, if receive_ stands in for it
  std::vector<std::byte> input_;   // a copy, if the original is in the way or has gaps
  std::vector<std::byte> output_;  // the result, if it cannot be made in place
  void* unpack_to_ = nullptr;
  int unpack_count_ = 0;
  MPI_Datatype unpack_type_ = MPI_DATATYPE_NULL;  // null: output_ is copied unchanged
};

}  // namespace tributary::mpi
