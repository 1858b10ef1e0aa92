// A GPU into whose memory records are loaded (L2).
//
//   pool or store ─▶ pinned buffer 0 ─▶ check ─▶ copy, stream 0 ─┐
//   pool or store ─▶ pinned buffer 1 ─▶ check ─▶ copy, stream 1 ─┴─▶ GPU memory
//
// While one buffer is copied, the other is filled. Devices read straight into the pinned buffers,
// which are registered. With `gpu_path: direct` or `unchecked`, RDMA devices read into the GPU's
// memory instead, if they reach it:
//
//   pool ─▶ RDMA device ─▶ GPU memory ─▶ copy to pinned buffer ─▶ check (direct)
//                                                 what fails, or was not reached: as above
//
// The GPU's allocation is registered once, as a dmabuf or by nvidia-peermem (verbs_region.h). One
// thread at a time. Not in a forked child: a GPU's context does not survive a fork.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "gpu/cuda_driver.h"
#include "pool/loader/loader.h"

namespace tributary::pool {

using gpu::CuContext;
using gpu::CudaDriver;
using gpu::CuDevice;
using gpu::CuDevicePtr;
using gpu::CuStream;
using gpu::GpuError;

class GpuTarget {
 public:
  // `bounce_bytes`: size of each pinned buffer; it grows for longer records. Throws GpuError, also
  // if there is no such GPU.
  GpuTarget(Loader& loader, const CudaDriver& driver, int device,
            std::uint64_t bounce_bytes = std::uint64_t{32} << 20);
  ~GpuTarget();
  GpuTarget(const GpuTarget&) = delete;
  GpuTarget& operator=(const GpuTarget&) = delete;

  // Loads record ids[i] to offsets[i] of the `bytes` at `address`, memory of this GPU; all are
  // there when it returns. Throws like Loader::get_batch(); std::length_error for a record that
  // does not fit at its offset and GpuError for memory of another GPU, both before anything is
  // loaded; GpuError if the driver fails.
  void get_batch(CuDevicePtr address, std::uint64_t bytes, std::span<const std::uint64_t> ids,
                 std::span<const std::uint64_t> offsets);

 private:
  struct Bounce {
    std::byte* bytes = nullptr;
    std::uint64_t size = 0;
    CuStream stream = nullptr;
  };

  // A registered allocation of the GPU's; `id` is the driver's, and never used again.
  struct Allocation {
    std::uint64_t id = 0;
    std::byte* begin = nullptr;
  };

  void load_through_host(CuDevicePtr address, std::span<const std::uint64_t> ids,
                         std::span<const std::uint64_t> offsets);
  void open(Bounce& bounce, std::uint64_t size);
  void close(Bounce& bounce);
  void reserve(Bounce& bounce, std::uint64_t size);
  // Returns how many of the records fit into one buffer; at least one.
  std::size_t load(Bounce& bounce, std::span<const std::uint64_t> ids);
  void copy(const Bounce& bounce, CuDevicePtr address, std::span<const std::uint64_t> ids,
            std::span<const std::uint64_t> offsets);

  // Returns the records (indices) that are not in the GPU's memory afterwards, or are wrong there.
  std::vector<std::size_t> load_direct(CuDevicePtr address, std::span<const std::uint64_t> ids,
                                       std::span<const std::uint64_t> offsets);
  // Returns false if the driver does not describe the allocation.
  bool register_allocation(CuDevicePtr address);
  // Copies records back, several at a time, and compares CRCs; clears the reads that are wrong.
  void check_in_device(CuDevicePtr address, std::span<const std::uint64_t> ids,
                       std::span<const std::uint64_t> offsets, DeviceReads& reads);

  Loader& loader_;
  const CudaDriver& driver_;
  const int ordinal_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  std::array<Bounce, 2> bounces_;
  std::deque<Allocation> allocations_;  // registered, oldest first
};

// The ordinal of the GPU with this memory. Throws GpuError if it is no GPU's memory.
int gpu_of(const CudaDriver& driver, CuDevicePtr address);

}  // namespace tributary::pool
