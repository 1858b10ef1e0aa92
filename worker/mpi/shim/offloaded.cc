// How an offloaded call uses the program's buffers.
#include <cstring>

#include "worker/mpi/shim/call.h"

namespace tributary::mpi {
namespace {

// Elements of a predefined type are adjacent.
bool has_gaps(MPI_Datatype type) {
  if (find_type(type) != nullptr) return false;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  if (real().Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
      combiner != MPI_COMBINER_NAMED)
    return true;
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  real().Type_size(type, &size);
  real().Type_get_extent(type, &lower, &extent);
  return lower != 0 || extent != size;
}

// If all ranks are of one kind, both MPIs pack without gaps between the elements.
std::vector<std::byte> pack(const void* from, int count, MPI_Datatype type, std::size_t bytes) {
  int room = 0;
  real().Pack_size(count, type, MPI_COMM_SELF, &room);
  std::vector<std::byte> packed(static_cast<std::size_t>(room));
  int position = 0;
  real().Pack(from, count, type, packed.data(), room, &position, MPI_COMM_SELF);
  if (static_cast<std::size_t>(position) != bytes)
    throw std::runtime_error("packing " + std::to_string(bytes) + " bytes gives " +
                             std::to_string(position));
  return packed;
}

std::byte* bytes_of(void* data) {
  return static_cast<std::byte*>(data);
}

void* writable(const void* data) {
  return const_cast<void*>(data);  // the library only reads it
}

}  // namespace

Offloaded::Offloaded(const Call& call, Communicator& communicator) {
  CollectiveCall c;
  const std::uint32_t rank = communicator.rank();
  c.root = static_cast<std::uint32_t>(call.root);
  switch (call.kind) {
    case Kind::allreduce: reduce_in_place(call, c, true); break;
    case Kind::reduce: reduce_in_place(call, c, rank == c.root); break;
    case Kind::bcast: broadcast(call, c, rank == c.root); break;
    case Kind::allgather: all_gather(call, c, rank, communicator.size()); break;
    case Kind::reduce_scatter: reduce_scatter(call, c); break;
    case Kind::barrier: c.collective = wire::Collective::barrier; break;
  }
  request_ = communicator.start(c);
}

void Offloaded::reduce_in_place(const Call& call, CollectiveCall& c, bool receives) {
  c.collective = call.kind == Kind::reduce ? wire::Collective::reduce : wire::Collective::allreduce;
  c.dtype = call.type->dtype;
  c.op = *call.op;
  c.count = call.count * call.type->parts;
  c.data = receives ? call.receive : writable(call.send);
  if (receives && call.send != MPI_IN_PLACE) std::memcpy(call.receive, call.send, call.bytes);
}

void Offloaded::broadcast(const Call& call, CollectiveCall& c, bool sends) {
  c.collective = wire::Collective::broadcast;
  c.dtype = wire::DType::uint8;
  c.count = call.bytes;
  c.data = call.receive;
  if (!has_gaps(call.receive_type)) return;
  if (sends) {
    input_ = pack(call.receive, call.receive_count, call.receive_type, call.bytes);
    c.data = input_.data();
    return;
  }
  output_.resize(call.bytes);
  c.data = output_.data();
  unpack_to_ = call.receive;
  unpack_count_ = call.receive_count;
  unpack_type_ = call.receive_type;
}

void Offloaded::all_gather(const Call& call, CollectiveCall& c, std::uint32_t rank,
                           std::uint32_t size) {
  c.collective = wire::Collective::all_gather;
  c.dtype = wire::DType::uint8;
  c.count = call.bytes / size;
  c.output = call.receive;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  real().Type_get_extent(call.receive_type, &lower, &extent);
  if (call.send == MPI_IN_PLACE) {
    const std::byte* const own =
        bytes_of(call.receive) + std::size_t{rank} * static_cast<std::size_t>(extent) *
                                     static_cast<std::size_t>(call.receive_count);
    input_ = pack(own, call.receive_count, call.receive_type, c.count);
    c.data = input_.data();
  } else if (has_gaps(call.send_type)) {
    input_ = pack(call.send, call.send_count, call.send_type, c.count);
    c.data = input_.data();
  } else {
    c.data = writable(call.send);
  }
  if (!has_gaps(call.receive_type)) return;
  output_.resize(call.bytes);
  c.output = output_.data();
  unpack_to_ = call.receive;
  unpack_count_ = call.receive_count * static_cast<int>(size);
  unpack_type_ = call.receive_type;
}

void Offloaded::reduce_scatter(const Call& call, CollectiveCall& c) {
  c.collective = wire::Collective::reduce_scatter;
  c.dtype = call.type->dtype;
  c.op = *call.op;
  c.count = call.count * call.type->parts;
  c.data = writable(call.send);
  c.output = call.receive;
  if (call.send != MPI_IN_PLACE) return;
  // The result replaces data that may have to be sent again.
  c.data = call.receive;
  output_.resize(call.count * call.type->bytes());
  c.output = output_.data();
  unpack_to_ = call.receive;
}

void Offloaded::finish() {
  const Outcome outcome = request_.outcome();
  if (outcome.degraded())
    throw CommunicatorError(wire::Reason::none, outcome.missing,
                            "the result lacks ranks that were late: a job of MPI programs must not "
                            "set stragglers.degraded_after");
  if (unpack_to_ == nullptr) return;
  if (unpack_type_ == MPI_DATATYPE_NULL) {
    std::memcpy(unpack_to_, output_.data(), output_.size());
    return;
  }
  int position = 0;
  real().Unpack(output_.data(), static_cast<int>(output_.size()), &position, unpack_to_,
                unpack_count_, unpack_type_, MPI_COMM_SELF);
}

}  // namespace tributary::mpi
