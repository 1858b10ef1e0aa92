#include "worker/mpi/shim/mistake.h"

#include "worker/mpi/shim/buffers.h"
#include "worker/mpi/shim/call.h"

namespace tributary::mpi {
namespace {

void check_buffer(const void* buffer, MPI_Datatype type) {
  if (buffer == MPI_IN_PLACE) throw LocalError(Mistake::in_place);
  // A derived type may have absolute addresses: then the buffer is MPI_BOTTOM, which is null.
  if (has_gaps(type)) {
    if (!is_usable(type)) throw LocalError(Mistake::type);
  } else if (buffer == nullptr) {
    throw LocalError(Mistake::null_buffer);
  }
}

// Layouts with gaps may be interleaved.
void check_apart(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b);
  if (a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes)
    throw LocalError(Mistake::overlap);
}

// `received`: the bytes of the result; of reduce_scatter, one rank's part.
void check_reduction(const Call& call, std::size_t received) {
  check_buffer(call.receive, call.receive_type);
  if (call.send == MPI_IN_PLACE) return;
  check_buffer(call.send, call.send_type);
  check_apart(call.send, call.bytes, call.receive, received);
}

void check_all_gather(const Call& call, std::uint32_t size) {
  check_buffer(call.receive, call.receive_type);
  if (call.send == MPI_IN_PLACE) return;
  if (call.send_type == MPI_DATATYPE_NULL) throw LocalError(Mistake::type);
  const std::size_t part = call.bytes / size;
  int element = 0;
  if (real().Type_size(call.send_type, &element) != MPI_SUCCESS) throw LocalError(Mistake::type);
  if (call.send_count < 0 ||
      static_cast<std::size_t>(element) * static_cast<std::size_t>(call.send_count) != part)
    throw LocalError(Mistake::count);
  check_buffer(call.send, call.send_type);
  if (!has_gaps(call.send_type) && !has_gaps(call.receive_type))
    check_apart(call.send, part, call.receive, call.bytes);
}

}  // namespace

const char* text_of(Mistake mistake) {
  switch (mistake) {
    case Mistake::none: return "it made no mistake";
    case Mistake::null_buffer: return "one of its buffers is null";
    case Mistake::overlap:
      return "its send and receive buffers overlap; MPI_IN_PLACE is for one buffer";
    case Mistake::in_place: return "it gave MPI_IN_PLACE where MPI does not allow that";
    case Mistake::count: return "it sends another number of bytes than it receives of each rank";
    case Mistake::type: return "it gave a data type that cannot be used";
    case Mistake::in_use: return "one of its buffers is in use by a call in flight";
    case Mistake::unreadable: return "one of its buffers could not be copied";
    case Mistake::no_memory: return "it has no memory for copies of its buffers";
  }
  return "it made an unknown mistake";
}

int class_of(Mistake mistake) {
  switch (mistake) {
    case Mistake::null_buffer:
    case Mistake::overlap:
    case Mistake::in_place:
    case Mistake::in_use: return MPI_ERR_BUFFER;
    case Mistake::count: return MPI_ERR_COUNT;
    case Mistake::type: return MPI_ERR_TYPE;
    case Mistake::no_memory: return MPI_ERR_NO_MEM;
    default: return MPI_ERR_OTHER;
  }
}

LocalError::LocalError(Mistake mistake, const std::string& more)
    : std::runtime_error(text_of(mistake) + (more.empty() ? "" : ": " + more)), mistake_(mistake) {}

void check_own_arguments(const Call& call, std::uint32_t rank, std::uint32_t size) {
  switch (call.kind) {
    case Kind::allreduce: return check_reduction(call, call.bytes);
    case Kind::reduce:
      if (static_cast<int>(rank) == call.root) return check_reduction(call, call.bytes);
      return check_buffer(call.send, call.send_type);
    case Kind::bcast: return check_buffer(call.receive, call.receive_type);
    case Kind::allgather: return check_all_gather(call, size);
    case Kind::reduce_scatter: return check_reduction(call, call.bytes / size);
    case Kind::barrier: return;
  }
}

}  // namespace tributary::mpi
