// How an offloaded call uses the program's buffers.
#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "worker/mpi/shim/call.h"
#include "worker/mpi/shim/runtime.h"

namespace tributary::mpi {
namespace {

constexpr int kRankBits = 32;

std::byte* bytes_of(void* data) {
  return static_cast<std::byte*>(data);
}

void* writable(const void* data) {
  return const_cast<void*>(data);  // the library only reads it
}

wire::Collective collective_of(Kind kind) {
  switch (kind) {
    case Kind::allreduce: return wire::Collective::allreduce;
    case Kind::reduce: return wire::Collective::reduce;
    case Kind::bcast: return wire::Collective::broadcast;
    case Kind::allgather: return wire::Collective::all_gather;
    case Kind::reduce_scatter: return wire::Collective::reduce_scatter;
    case Kind::barrier: return wire::Collective::barrier;
  }
  return wire::Collective::barrier;
}

}  // namespace

Offloaded::Offloaded(const Call& call, Communicator& communicator) {
  try {
    check_own_arguments(call, communicator.rank(), communicator.size());
    start(call, communicator);
  } catch (const LocalError& e) {
    mistake_ = e.mistake();
    why_ = e.what();
  } catch (const std::invalid_argument& e) {
    // The route has excluded all that the library may refuse, but for memory in use.
    mistake_ = Mistake::in_use;
    why_ = e.what();
  } catch (const std::bad_alloc&) {
    mistake_ = Mistake::no_memory;
    why_ = text_of(mistake_);
  }
  if (mistake_ != Mistake::none) start_zeros(call, communicator);
  if (call.kind != Kind::barrier) start_vote(communicator);
}

void Offloaded::start(const Call& program, Communicator& communicator) {
  CollectiveCall c;
  c.collective = collective_of(program.kind);
  const std::uint32_t rank = communicator.rank();
  const Call call = with_stand_ins(program, rank, communicator.size());
  c.root = static_cast<std::uint32_t>(call.root);
  switch (call.kind) {
    case Kind::allreduce: reduce_in_place(call, c, true); break;
    case Kind::reduce: reduce_in_place(call, c, rank == c.root); break;
    case Kind::bcast: broadcast(call, c, rank == c.root); break;
    case Kind::allgather: all_gather(call, c, rank, communicator.size()); break;
    case Kind::reduce_scatter: reduce_scatter(call, c); break;
    case Kind::barrier: break;
  }
  request_ = communicator.start(c);
}

// The same op on memory of its own. Without this rank the others would wait for long, so that a
// lack of memory ends the program.
void Offloaded::start_zeros(const Call& call, Communicator& communicator) {
  CollectiveCall c;
  c.collective = collective_of(call.kind);
  c.root = static_cast<std::uint32_t>(call.root);
  c.dtype = call.type == nullptr ? wire::DType::uint8 : call.type->dtype;
  if (call.op) c.op = *call.op;
  c.count = call.bytes / wire::size_of(c.dtype);
  if (call.kind == Kind::allgather || call.kind == Kind::reduce_scatter)
    c.count /= communicator.size();
  try {
    input_.assign(call.bytes, std::byte{});
    output_.assign(call.bytes, std::byte{});
  } catch (const std::bad_alloc&) {
    say(std::string(call.name) + ": no memory for " + std::to_string(call.bytes) + " bytes");
    real().Abort(call.comm, MPI_ERR_NO_MEM);
  }
  c.data = input_.data();
  c.output = output_.data();
  request_ = communicator.start(c);
}

void Offloaded::start_vote(Communicator& communicator) {
  if (mistake_ != Mistake::none)
    *ballot_ = std::int64_t{static_cast<std::uint8_t>(mistake_)} << kRankBits | communicator.rank();
  try {
    vote_ = communicator.allreduce(ballot_.get(), 1, wire::DType::int64, wire::ReduceOp::max);
  } catch (...) {
    // The data's op uses this object's memory until it is done.
    while (!request_.done()) wait_for(Duration::ms(1));
    throw;
  }
}

bool Offloaded::wait_for(Duration limit) {
  for (Request* const request : {&request_, &vote_}) {
    try {
      if (!request->wait_for(limit)) return false;
    } catch (const CommunicatorError&) {
      // finish() reports it.
    }
  }
  return true;
}

// The call with host memory in place of a GPU's, which only the driver may touch.
Call Offloaded::with_stand_ins(Call call, std::uint32_t rank, std::uint32_t size) {
  if (call.kind == Kind::barrier) return call;
  const bool is_root = static_cast<int>(rank) == call.root;
  const bool in_place = call.send == MPI_IN_PLACE;
  const bool scatters = call.kind == Kind::reduce_scatter;
  const bool sends = call.kind != Kind::bcast && !in_place;
  const auto span = [size](MPI_Datatype type, int count, bool of_all_ranks) {
    return span_of(type, static_cast<std::size_t>(count) * (of_all_ranks ? size : 1));
  };
  if (sends)
    call.send =
        send_.of(writable(call.send), span(call.send_type, call.send_count, scatters), true);
  if (call.kind == Kind::reduce && !is_root) return call;
  const bool whole = call.kind == Kind::allgather || (scatters && in_place);
  const Span received = span(call.receive_type, call.receive_count, whole);
  const bool read = in_place || call.kind == Kind::bcast || has_gaps(call.receive_type);
  call.receive = receive_.of(call.receive, received, read);
  give_back_ = call.kind == Kind::bcast && is_root ? 0
               : call.kind == Kind::reduce_scatter ? call.bytes / size
                                                   : received.bytes;
  return call;
}

void Offloaded::reduce_in_place(const Call& call, CollectiveCall& c, bool receives) {
  c.dtype = call.type->dtype;
  c.op = *call.op;
  c.count = call.count * call.type->parts;
  c.data = receives ? call.receive : writable(call.send);
  if (receives && call.send != MPI_IN_PLACE) std::memcpy(call.receive, call.send, call.bytes);
}

void Offloaded::broadcast(const Call& call, CollectiveCall& c, bool sends) {
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
  const Outcome voters = vote_.outcome();
  if (*ballot_ != 0) {
    const auto mistake = static_cast<Mistake>(std::min(*ballot_ >> kRankBits, kMistakeMax + 1));
    throw std::runtime_error("rank " + std::to_string(*ballot_ & 0xFFFFFFFF) +
                             " could not take part: " + text_of(mistake));
  }
  if (outcome.degraded() || voters.degraded())
    throw CommunicatorError(wire::Reason::none, outcome.missing,
                            "the result lacks ranks that were late: a job of MPI programs must not "
                            "set stragglers.degraded_after");
  if (unpack_to_ != nullptr && unpack_type_ == MPI_DATATYPE_NULL)
    std::memcpy(unpack_to_, output_.data(), output_.size());
  else if (unpack_to_ != nullptr)
    unpack(output_, unpack_to_, unpack_count_, unpack_type_);
  receive_.give_back(give_back_);
}

}  // namespace tributary::mpi
