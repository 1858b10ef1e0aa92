#include "worker/mpi/shim/buffers.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "gpu/cuda_driver.h"
#include "gpu/device_memory.h"
#include "worker/mpi/shim/mistake.h"
#include "worker/mpi/shim/mpi_types.h"

namespace tributary::mpi {
namespace {

MPI_Comm packing = MPI_COMM_NULL;

}  // namespace

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

// MPI has no such question, and not every MPI_Pack checks: a broadcast of nothing to itself does.
bool is_usable(MPI_Datatype type) {
  return real().Bcast(nullptr, 0, type, 0, packing) == MPI_SUCCESS;
}

Span span_of(MPI_Datatype type, std::size_t count) {
  if (count == 0) return {};
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Aint first = 0;
  MPI_Aint reach = 0;
  real().Type_get_extent(type, &lower, &extent);
  real().Type_get_true_extent(type, &first, &reach);
  const std::ptrdiff_t rest = extent * static_cast<std::ptrdiff_t>(count - 1);
  return {first + std::min<std::ptrdiff_t>(rest, 0),
          static_cast<std::size_t>(reach + (rest < 0 ? -rest : rest))};
}

void open_packing() {
  real().Comm_split(MPI_COMM_SELF, 0, 0, &packing);
  real().Comm_set_errhandler(packing, MPI_ERRORS_RETURN);
}

void close_packing() {
  real().Comm_free(&packing);
}

std::vector<std::byte> pack(const void* from, int count, MPI_Datatype type, std::size_t bytes) {
  int room = 0;
  if (real().Pack_size(count, type, packing, &room) != MPI_SUCCESS) throw LocalError(Mistake::type);
  std::vector<std::byte> packed(static_cast<std::size_t>(room));
  int position = 0;
  if (real().Pack(from, count, type, packed.data(), room, &position, packing) != MPI_SUCCESS)
    throw LocalError(Mistake::type);
  if (static_cast<std::size_t>(position) != bytes)
    throw LocalError(Mistake::type, "packing " + std::to_string(bytes) + " bytes gives " +
                                        std::to_string(position));
  return packed;
}

void unpack(const std::vector<std::byte>& packed, void* to, int count, MPI_Datatype type) {
  int position = 0;
  if (real().Unpack(packed.data(), static_cast<int>(packed.size()), &position, to, count, type,
                    packing) != MPI_SUCCESS)
    throw std::runtime_error("the result cannot be unpacked");
}

void* StandIn::of(void* buffer, const Span& span, bool read) {
  if (buffer == MPI_IN_PLACE || span.bytes == 0) return buffer;
  // The type has the address of MPI_BOTTOM, so the sum is one of integers.
  const auto at =
      reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(span.first);
  auto* const first = reinterpret_cast<std::byte*>(at);  // NOLINT: an address
  try {
    if (!gpu::is_device_memory(first)) return buffer;
    device_ = first;
    memory_.resize(span.bytes);
    if (read) gpu::copy_from_device(memory_.data(), device_, span.bytes);
  } catch (const gpu::GpuError& e) {
    throw LocalError(Mistake::unreadable, e.what());
  }
  const auto stands =
      reinterpret_cast<std::uintptr_t>(memory_.data()) - static_cast<std::uintptr_t>(span.first);
  return reinterpret_cast<void*>(stands);  // NOLINT: an address
}

void StandIn::give_back(std::size_t bytes) const {
  if (device_ != nullptr) gpu::copy_to_device(device_, memory_.data(), bytes);
}

}  // namespace tributary::mpi
