// The memory of a call's buffers: layouts of MPI's types, and stand-ins in host memory for memory
// of a GPU, which only the GPU's driver may touch.
//
//   device ──copy_from_device──▶ stand-in ──the op──▶ stand-in ──copy_to_device──▶ device
//
// Where a buffer is has no influence on the route of a call.
#pragma once

#include <cstddef>
#include <vector>

#include "worker/mpi/shim/mpi_functions.h"

namespace tributary::mpi {

// True if MPI takes the type in a call: it is committed.
bool is_usable(MPI_Datatype type);
// Elements of a predefined type are adjacent.
bool has_gaps(MPI_Datatype type);

// The bytes that `count` elements take, gaps between them included, seen from the buffer's pointer.
struct Span {
  std::ptrdiff_t first = 0;
  std::size_t bytes = 0;
};
Span span_of(MPI_Datatype type, std::size_t count);

// If all ranks are of one kind, both MPIs pack without gaps between the elements. Throws LocalError
// unless that gives `bytes`.
std::vector<std::byte> pack(const void* from, int count, MPI_Datatype type, std::size_t bytes);
void unpack(const std::vector<std::byte>& packed, void* to, int count, MPI_Datatype type);
// The communicator of pack() and unpack(): its errors return. After MPI_Init, and before
// MPI_Finalize.
void open_packing();
void close_packing();

// Host memory in place of a buffer in a GPU's memory.
class StandIn {
 public:
  // Returns the pointer to use instead of `buffer`: `buffer` itself unless it is a GPU's memory.
  // `read`: with the buffer's contents. Throws LocalError.
  void* of(void* buffer, const Span& span, bool read);
  // Copies the bytes of the result to the buffer, if it is in a GPU's memory: `bytes` from the
  // span's first on. Throws gpu::GpuError.
  void give_back(std::size_t bytes) const;
  [[nodiscard]] std::size_t bytes() const { return memory_.size(); }

 private:
  std::byte* device_ = nullptr;
  std::vector<std::byte> memory_;
};

}  // namespace tributary::mpi
