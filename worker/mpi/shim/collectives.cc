// The collectives that replace MPI's.
#include <algorithm>

#include "worker/mpi/shim/counting.h"
#include "worker/mpi/shim/route.h"

namespace {

using namespace tributary::mpi;  // NOLINT: this file is the library's face in C

std::size_t non_negative(int count) {
  return static_cast<std::size_t>(std::max(count, 0));
}

std::size_t size_of(MPI_Datatype type, int count) {
  if (const ElementType* const known = find_type(type)) return known->bytes() * non_negative(count);
  int size = 0;
  if (type == MPI_DATATYPE_NULL || real().Type_size(type, &size) != MPI_SUCCESS) return 0;
  return non_negative(size) * non_negative(count);
}

Call reduction(const char* name, Kind kind, const void* send, void* receive, int count,
               MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Call call;
  call.name = name;
  call.kind = kind;
  call.send = send;
  call.receive = receive;
  call.count = non_negative(count);
  call.bytes = size_of(type, count);
  call.type = find_type(type);
  call.op = find_op(op);
  call.comm = comm;
  call.send_type = call.receive_type = type;
  call.send_count = call.receive_count = count;
  return call;
}

Call broadcast(const char* name, void* buffer, int count, MPI_Datatype type, int root,
               MPI_Comm comm) {
  Call call;
  call.name = name;
  call.kind = Kind::bcast;
  call.receive = buffer;
  call.bytes = size_of(type, count);
  call.root = root;
  call.comm = comm;
  call.receive_type = type;
  call.receive_count = count;
  return call;
}

std::size_t ranks_of(MPI_Comm comm) {
  int size = 0;
  if (comm != MPI_COMM_NULL) real().Comm_size(comm, &size);
  return non_negative(size);
}

Call gathering(const char* name, const void* send, int send_count, MPI_Datatype send_type,
               void* receive, int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  Call call;
  call.name = name;
  call.kind = Kind::allgather;
  call.send = send;
  call.receive = receive;
  call.bytes = size_of(receive_type, receive_count) * ranks_of(comm);
  call.comm = comm;
  call.send_type = send_type;
  call.send_count = send_count;
  call.receive_type = receive_type;
  call.receive_count = receive_count;
  return call;
}

Call scattering(const char* name, const void* send, void* receive, int count, MPI_Datatype type,
                MPI_Op op, MPI_Comm comm) {
  Call call = reduction(name, Kind::reduce_scatter, send, receive, count, type, op, comm);
  call.bytes *= ranks_of(comm);
  return call;
}

bool all_equal(const int counts[], MPI_Comm comm) {
  return counts != nullptr &&
         std::all_of(counts, counts + ranks_of(comm), [&](int c) { return c == counts[0]; });
}

Call meeting(const char* name, MPI_Comm comm) {
  Call call;
  call.name = name;
  call.kind = Kind::barrier;
  call.comm = comm;
  return call;
}

// False for a communicator between two groups: there the remote size counts, and parts differ.
bool is_plain(MPI_Comm comm) {
  int between_groups = 0;
  if (comm == MPI_COMM_NULL) return false;
  real().Comm_test_inter(comm, &between_groups);
  return between_groups == 0;
}

// Leaves a call to MPI. What a profiling tool passes on has been counted.
template <typename... Parameters, typename... Arguments>
int leave(Kind kind, int (*MpiFunctions::*function)(Parameters...), Arguments... arguments) {
  if (!is_forwarding()) count_to_mpi(kind);
  return forward(function, arguments...);
}

}  // namespace

TRIBUTARY_MPI_DEFINE(Allreduce, const void* send, void* receive, int count, MPI_Datatype type,
                     MPI_Op op, MPI_Comm comm) {
  const auto own = [&] {
    return leave(Kind::allreduce, &MpiFunctions::Allreduce, send, receive, count, type, op, comm);
  };
  if (stays_with_mpi(Kind::allreduce, size_of(type, count))) return own();
  return carry_out(
      reduction("MPI_Allreduce", Kind::allreduce, send, receive, count, type, op, comm), own);
}

TRIBUTARY_MPI_DEFINE(Iallreduce, const void* send, void* receive, int count, MPI_Datatype type,
                     MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  const auto own = [&] {
    return leave(Kind::allreduce, &MpiFunctions::Iallreduce, send, receive, count, type, op, comm,
                 request);
  };
  if (stays_with_mpi(Kind::allreduce, size_of(type, count))) return own();
  return carry_out_later(
      reduction("MPI_Iallreduce", Kind::allreduce, send, receive, count, type, op, comm), request,
      own);
}

TRIBUTARY_MPI_DEFINE(Reduce, const void* send, void* receive, int count, MPI_Datatype type,
                     MPI_Op op, int root, MPI_Comm comm) {
  const auto own = [&] {
    return leave(Kind::reduce, &MpiFunctions::Reduce, send, receive, count, type, op, root, comm);
  };
  if (stays_with_mpi(Kind::reduce, size_of(type, count))) return own();
  Call call = reduction("MPI_Reduce", Kind::reduce, send, receive, count, type, op, comm);
  call.root = root;
  return carry_out(call, own);
}

TRIBUTARY_MPI_DEFINE(Ireduce, const void* send, void* receive, int count, MPI_Datatype type,
                     MPI_Op op, int root, MPI_Comm comm, MPI_Request* request) {
  const auto own = [&] {
    return leave(Kind::reduce, &MpiFunctions::Ireduce, send, receive, count, type, op, root, comm,
                 request);
  };
  if (stays_with_mpi(Kind::reduce, size_of(type, count))) return own();
  Call call = reduction("MPI_Ireduce", Kind::reduce, send, receive, count, type, op, comm);
  call.root = root;
  return carry_out_later(call, request, own);
}

TRIBUTARY_MPI_DEFINE(Bcast, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const auto own = [&] {
    return leave(Kind::bcast, &MpiFunctions::Bcast, buffer, count, type, root, comm);
  };
  if (stays_with_mpi(Kind::bcast, size_of(type, count)) || !is_plain(comm)) return own();
  return carry_out(broadcast("MPI_Bcast", buffer, count, type, root, comm), own);
}

TRIBUTARY_MPI_DEFINE(Ibcast, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                     MPI_Request* request) {
  const auto own = [&] {
    return leave(Kind::bcast, &MpiFunctions::Ibcast, buffer, count, type, root, comm, request);
  };
  if (stays_with_mpi(Kind::bcast, size_of(type, count)) || !is_plain(comm)) return own();
  return carry_out_later(broadcast("MPI_Ibcast", buffer, count, type, root, comm), request, own);
}

TRIBUTARY_MPI_DEFINE(Allgather, const void* send, int send_count, MPI_Datatype send_type,
                     void* receive, int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  const auto own = [&] {
    return leave(Kind::allgather, &MpiFunctions::Allgather, send, send_count, send_type, receive,
                 receive_count, receive_type, comm);
  };
  if (runtime() == nullptr || is_forwarding() || !is_plain(comm)) return own();
  const Call call = gathering("MPI_Allgather", send, send_count, send_type, receive, receive_count,
                              receive_type, comm);
  return stays_with_mpi(call.kind, call.bytes) ? own() : carry_out(call, own);
}

TRIBUTARY_MPI_DEFINE(Iallgather, const void* send, int send_count, MPI_Datatype send_type,
                     void* receive, int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                     MPI_Request* request) {
  const auto own = [&] {
    return leave(Kind::allgather, &MpiFunctions::Iallgather, send, send_count, send_type, receive,
                 receive_count, receive_type, comm, request);
  };
  if (runtime() == nullptr || is_forwarding() || !is_plain(comm)) return own();
  const Call call = gathering("MPI_Iallgather", send, send_count, send_type, receive, receive_count,
                              receive_type, comm);
  return stays_with_mpi(call.kind, call.bytes) ? own() : carry_out_later(call, request, own);
}

TRIBUTARY_MPI_DEFINE(Reduce_scatter_block, const void* send, void* receive, int count,
                     MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto own = [&] {
    return leave(Kind::reduce_scatter, &MpiFunctions::Reduce_scatter_block, send, receive, count,
                 type, op, comm);
  };
  if (runtime() == nullptr || is_forwarding() || !is_plain(comm)) return own();
  const Call call = scattering("MPI_Reduce_scatter_block", send, receive, count, type, op, comm);
  return stays_with_mpi(call.kind, call.bytes) ? own() : carry_out(call, own);
}

TRIBUTARY_MPI_DEFINE(Ireduce_scatter_block, const void* send, void* receive, int count,
                     MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  const auto own = [&] {
    return leave(Kind::reduce_scatter, &MpiFunctions::Ireduce_scatter_block, send, receive, count,
                 type, op, comm, request);
  };
  if (runtime() == nullptr || is_forwarding() || !is_plain(comm)) return own();
  const Call call = scattering("MPI_Ireduce_scatter_block", send, receive, count, type, op, comm);
  return stays_with_mpi(call.kind, call.bytes) ? own() : carry_out_later(call, request, own);
}

// Equal parts are handled like MPI_Reduce_scatter_block; others go to MPI.
TRIBUTARY_MPI_DEFINE(Reduce_scatter, const void* send, void* receive, const int counts[],
                     MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto own = [&] {
    return leave(Kind::reduce_scatter, &MpiFunctions::Reduce_scatter, send, receive, counts, type,
                 op, comm);
  };
  if (runtime() == nullptr || is_forwarding() || !is_plain(comm) || !all_equal(counts, comm))
    return own();
  const Call call = scattering("MPI_Reduce_scatter", send, receive, counts[0], type, op, comm);
  return stays_with_mpi(call.kind, call.bytes) ? own() : carry_out(call, own);
}

TRIBUTARY_MPI_DEFINE(Ireduce_scatter, const void* send, void* receive, const int counts[],
                     MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  const auto own = [&] {
    return leave(Kind::reduce_scatter, &MpiFunctions::Ireduce_scatter, send, receive, counts, type,
                 op, comm, request);
  };
  if (runtime() == nullptr || is_forwarding() || !is_plain(comm) || !all_equal(counts, comm))
    return own();
  const Call call = scattering("MPI_Ireduce_scatter", send, receive, counts[0], type, op, comm);
  return stays_with_mpi(call.kind, call.bytes) ? own() : carry_out_later(call, request, own);
}

TRIBUTARY_MPI_DEFINE(Barrier, MPI_Comm comm) {
  const auto own = [&] { return leave(Kind::barrier, &MpiFunctions::Barrier, comm); };
  if (stays_with_mpi(Kind::barrier, 0)) return own();
  return carry_out(meeting("MPI_Barrier", comm), own);
}

TRIBUTARY_MPI_DEFINE(Ibarrier, MPI_Comm comm, MPI_Request* request) {
  const auto own = [&] { return leave(Kind::barrier, &MpiFunctions::Ibarrier, comm, request); };
  if (stays_with_mpi(Kind::barrier, 0)) return own();
  return carry_out_later(meeting("MPI_Ibarrier", comm), request, own);
}
