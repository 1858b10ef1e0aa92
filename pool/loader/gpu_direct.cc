// Reads records into a GPU's memory by RDMA devices, and checks them.
#include <algorithm>

#include "pool/loader/gpu_target.h"
#include "pool/transport/file.h"

namespace tributary::pool {
namespace {

// Pointer attributes, and a kind of handle, from the CUDA Driver API reference.
constexpr int kSyncMemops = 6;
constexpr int kBufferId = 7;
constexpr int kDmabufHandle = 1;
constexpr std::uint64_t kPage = 4096;  // a dmabuf consists of the host's pages
// The most registrations kept; PyTorch's allocator has few, large allocations.
constexpr std::size_t kMostAllocations = 64;

// The allocation's file, if the driver gives one; `offset` is the place of `begin` in it.
File dmabuf_of(const CudaDriver& driver, CuDevicePtr begin, std::uint64_t size,
               std::uint64_t& offset) {
  if (driver.call().range_handle == nullptr) return File();
  const CuDevicePtr first = begin / kPage * kPage;
  const CuDevicePtr end = (begin + size + kPage - 1) / kPage * kPage;
  offset = begin - first;
  int file = -1;
  if (driver.call().range_handle(&file, first, end - first, kDmabufHandle, 0) != 0) return File();
  return File(file);
}

std::byte* pointer(CuDevicePtr address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): an address
}

}  // namespace

bool GpuTarget::register_allocation(CuDevicePtr address) {
  std::uint64_t id = 0;
  CuDevicePtr begin = 0;
  std::size_t size = 0;
  if (driver_.call().pointer_attribute(&id, kBufferId, address) != 0 ||
      driver_.call().address_range(&begin, &size, address) != 0)
    return false;
  const auto same_id = [id](const Allocation& known) { return known.id == id; };
  if (std::any_of(allocations_.begin(), allocations_.end(), same_id)) return true;
  // Another allocation used this address before.
  const auto gone = std::find_if(allocations_.begin(), allocations_.end(),
                                 [&](const auto& known) { return known.begin == pointer(begin); });
  if (gone != allocations_.end()) {
    loader_.unregister_device(gone->begin);
    allocations_.erase(gone);
  }
  if (allocations_.size() == kMostAllocations) {
    loader_.unregister_device(allocations_.front().begin);
    allocations_.pop_front();
  }
  // Makes the driver's copies wait for operations in flight; nvidia-peermem requires its users to.
  const unsigned on = 1;
  static_cast<void>(driver_.call().set_pointer_attribute(&on, kSyncMemops, begin));
  std::uint64_t offset = 0;
  const File dmabuf = dmabuf_of(driver_, begin, size, offset);
  loader_.register_device({{pointer(begin), size}, dmabuf.get(), offset});
  allocations_.push_back({id, pointer(begin)});
  return true;
}

std::vector<std::size_t> GpuTarget::load_direct(CuDevicePtr address,
                                                std::span<const std::uint64_t> ids,
                                                std::span<const std::uint64_t> offsets) {
  DeviceReads reads(ids.size());
  if (register_allocation(address)) {
    std::vector<std::span<std::byte>> targets;
    targets.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
      targets.emplace_back(pointer(address + offsets[i]), loader_.length(ids[i]));
    reads = loader_.read_into_device(ids, targets);
    if (loader_.config().load.gpu_path == GpuPath::direct)
      check_in_device(address, ids, offsets, reads);
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < reads.size(); ++i)
    if (!reads[i]) left.push_back(i);
  return left;
}

void GpuTarget::check_in_device(CuDevicePtr address, std::span<const std::uint64_t> ids,
                                std::span<const std::uint64_t> offsets, DeviceReads& reads) {
  Bounce& bounce = bounces_[0];
  driver_.check(driver_.call().stream_synchronize(bounce.stream), "copying from the GPU");
  for (std::size_t first = 0; first < ids.size();) {
    reserve(bounce, loader_.length(ids[first]));
    std::uint64_t end = 0;
    std::size_t i = first;
    for (; i < ids.size() && end + loader_.length(ids[i]) <= bounce.size; ++i) {
      if (!reads[i]) continue;
      driver_.check(driver_.call().copy_to_host(bounce.bytes + end, address + offsets[i],
                                                loader_.length(ids[i]), bounce.stream),
                    "copying from the GPU");
      end += loader_.length(ids[i]);
    }
    driver_.check(driver_.call().stream_synchronize(bounce.stream), "copying from the GPU");
    const std::byte* at = bounce.bytes;
    for (; first < i; ++first) {
      if (!reads[first]) continue;
      const std::span record(at, loader_.length(ids[first]));
      if (wire::crc32c(record) != *reads[first]) reads[first].reset();
      at += record.size();
    }
  }
}

}  // namespace tributary::pool
