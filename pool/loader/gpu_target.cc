#include "pool/loader/gpu_target.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::pool {
namespace {

constexpr unsigned kPortable = 1;         // CU_MEMHOSTALLOC_PORTABLE
constexpr unsigned kNonBlocking = 1;      // CU_STREAM_NON_BLOCKING
constexpr int kAttributeOrdinal = 9;      // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr std::uint64_t kAlignment = 64;  // of records in a pinned buffer

constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

using Current = gpu::CurrentContext;

}  // namespace

int gpu_of(const CudaDriver& driver, CuDevicePtr address) {
  int ordinal = -1;
  driver.check(driver.call().pointer_attribute(&ordinal, kAttributeOrdinal, address),
               "the target is no memory of a GPU");
  return ordinal;
}

GpuTarget::GpuTarget(Loader& loader, const CudaDriver& driver, int device,
                     std::uint64_t bounce_bytes)
    : loader_(loader), driver_(driver), ordinal_(device) {
  driver.check(driver.call().device_get(&device_, device), "gpu:" + std::to_string(device));
  driver.check(driver.call().context_retain(&context_, device_),
               "context of gpu:" + std::to_string(device));
  try {
    const Current current(driver, context_);
    for (Bounce& bounce : bounces_) open(bounce, bounce_bytes);
  } catch (...) {
    for (Bounce& bounce : bounces_) close(bounce);
    driver.call().context_release(device_);
    throw;
  }
}

GpuTarget::~GpuTarget() {
  driver_.call().context_push(context_);
  for (const Allocation& allocation : allocations_) loader_.unregister_device(allocation.begin);
  for (Bounce& bounce : bounces_) close(bounce);
  CuContext old = nullptr;
  driver_.call().context_pop(&old);
  driver_.call().context_release(device_);
}

void GpuTarget::open(Bounce& bounce, std::uint64_t size) {
  if (bounce.stream == nullptr)
    driver_.check(driver_.call().stream_create(&bounce.stream, kNonBlocking), "a stream");
  void* bytes = nullptr;
  driver_.check(driver_.call().host_alloc(&bytes, size, kPortable),
                "pinned memory of " + std::to_string(size) + " bytes");
  bounce.bytes = static_cast<std::byte*>(bytes);
  bounce.size = size;
  loader_.register_buffer({bounce.bytes, size});
}

// Copies in flight read the buffer, so the stream ends first.
void GpuTarget::close(Bounce& bounce) {
  if (bounce.stream != nullptr) {
    driver_.call().stream_synchronize(bounce.stream);
    driver_.call().stream_destroy(bounce.stream);
  }
  if (bounce.bytes != nullptr) {
    loader_.unregister_buffer(bounce.bytes);
    driver_.call().host_free(bounce.bytes);
  }
  bounce = {};
}

void GpuTarget::reserve(Bounce& bounce, std::uint64_t size) {
  if (bounce.size >= size) return;
  close(bounce);
  open(bounce, padded(size));
}

void GpuTarget::get_batch(CuDevicePtr address, std::uint64_t bytes,
                          std::span<const std::uint64_t> ids,
                          std::span<const std::uint64_t> offsets) {
  if (ids.size() != offsets.size())
    throw std::length_error(std::to_string(ids.size()) + " ids and " +
                            std::to_string(offsets.size()) + " offsets; allowed: one each");
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (const std::uint32_t length = loader_.length(ids[i]);
        offsets[i] > bytes || length > bytes - offsets[i])
      throw std::length_error("record " + std::to_string(ids[i]) + " has " +
                              std::to_string(length) + " bytes, its target " +
                              std::to_string(offsets[i] > bytes ? 0 : bytes - offsets[i]));
  if (const int its = gpu_of(driver_, address); its != ordinal_)
    throw GpuError("the target is memory of gpu:" + std::to_string(its) +
                   ", not of gpu:" + std::to_string(ordinal_));
  const Current current(driver_, context_);
  if (loader_.config().load.gpu_path == GpuPath::bounce)
    return load_through_host(address, ids, offsets);
  std::vector<std::uint64_t> left_ids;
  std::vector<std::uint64_t> left_offsets;
  for (const std::size_t i : load_direct(address, ids, offsets)) {
    left_ids.push_back(ids[i]);
    left_offsets.push_back(offsets[i]);
  }
  load_through_host(address, left_ids, left_offsets);
}

void GpuTarget::load_through_host(CuDevicePtr address, std::span<const std::uint64_t> ids,
                                  std::span<const std::uint64_t> offsets) {
  std::size_t turn = 0;
  for (std::size_t at = 0; at < ids.size(); ++turn) {
    Bounce& bounce = bounces_[turn % bounces_.size()];
    driver_.check(driver_.call().stream_synchronize(bounce.stream), "copying to the GPU");
    const std::size_t count = load(bounce, ids.subspan(at));
    copy(bounce, address, ids.subspan(at, count), offsets.subspan(at, count));
    at += count;
  }
  for (const Bounce& bounce : bounces_)
    driver_.check(driver_.call().stream_synchronize(bounce.stream), "copying to the GPU");
}

std::size_t GpuTarget::load(Bounce& bounce, std::span<const std::uint64_t> ids) {
  reserve(bounce, loader_.length(ids[0]));
  std::vector<std::span<std::byte>> targets;
  std::uint64_t end = 0;
  for (const std::uint64_t id : ids) {
    const std::uint64_t length = loader_.length(id);
    if (end + length > bounce.size) break;
    targets.emplace_back(bounce.bytes + end, length);
    end += padded(length);
    if (end >= bounce.size) break;
  }
  loader_.get_batch(ids.first(targets.size()), targets);
  return targets.size();
}

// Records that are adjacent on both sides are copied as one.
void GpuTarget::copy(const Bounce& bounce, CuDevicePtr address, std::span<const std::uint64_t> ids,
                     std::span<const std::uint64_t> offsets) {
  std::uint64_t from = 0;
  for (std::size_t i = 0; i < ids.size();) {
    const std::uint64_t first = from;
    const std::uint64_t to = offsets[i];
    std::uint64_t length = loader_.length(ids[i]);
    from += padded(length);
    for (++i; i < ids.size() && length % kAlignment == 0 && offsets[i] == to + length; ++i) {
      length += loader_.length(ids[i]);
      from = first + padded(length);
    }
    driver_.check(
        driver_.call().copy_to_device(address + to, bounce.bytes + first, length, bounce.stream),
        "copying to the GPU");
  }
}

}  // namespace tributary::pool
