// A GPU whose memory records are loaded into (L2).
//
//   pool or store ─▶ pinned buffer 0 ─▶ check ─▶ copy, stream 0 ─┐
//   pool or store ─▶ pinned buffer 1 ─▶ check ─▶ copy, stream 1 ─┴─▶ GPU memory
//
// While one buffer is copied the other is filled. Records pass through host memory because the CPU
// checks every byte before it is handed out; devices read straight into the pinned buffers, which
// are registered. One thread's at a time. Not for a child of a fork: no GPU's context outlives one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "pool/loader/loader.h"
#include "pool/transport/cuda_driver.h"

namespace tributary::pool {

class GpuTarget {
 public:
  // `bounce_bytes`: of each pinned buffer; it grows for longer records. Throws GpuError, also where
  // there is no such GPU.
  GpuTarget(Loader& loader, const CudaDriver& driver, int device,
            std::uint64_t bounce_bytes = std::uint64_t{32} << 20);
  ~GpuTarget();
  GpuTarget(const GpuTarget&) = delete;
  GpuTarget& operator=(const GpuTarget&) = delete;

  // Record ids[i] at offsets[i] of the `bytes` at `address`, memory of this GPU; all are there when
  // it returns. Throws what Loader::get_batch() throws, std::length_error for a record that does
  // not fit at its offset, GpuError for memory of another: nothing is loaded then; GpuError where
  // the driver fails.
  void get_batch(CuDevicePtr address, std::uint64_t bytes, std::span<const std::uint64_t> ids,
                 std::span<const std::uint64_t> offsets);

 private:
  struct Bounce {
    std::byte* bytes = nullptr;
    std::uint64_t size = 0;
    CuStream stream = nullptr;
  };

  void open(Bounce& bounce, std::uint64_t size);
  void close(Bounce& bounce);
  void reserve(Bounce& bounce, std::uint64_t size);
  // How many of the records fit into one buffer; at least one.
  std::size_t load(Bounce& bounce, std::span<const std::uint64_t> ids);
  void copy(const Bounce& bounce, CuDevicePtr address, std::span<const std::uint64_t> ids,
            std::span<const std::uint64_t> offsets);

  Loader& loader_;
  const CudaDriver& driver_;
  const int ordinal_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  std::array<Bounce, 2> bounces_;
};

// Ordinal of the GPU whose memory this is. Throws GpuError where it is none's.
int gpu_of(const CudaDriver& driver, CuDevicePtr address);

}  // namespace tributary::pool
