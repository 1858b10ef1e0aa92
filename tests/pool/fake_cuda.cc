// A library with the names of NVIDIA's driver whose GPU 0 is host memory: what its users call is
// real, the GPU is not. Copies happen when their stream is waited for, so a buffer that is used
// again too early shows.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

struct Copy {
  std::uint64_t to;
  const void* from;
  std::size_t bytes;
};
struct Stream {
  std::vector<Copy> copies;
};
std::mutex mutex;
int depth = 0;             // contexts pushed
int pinned = 0;            // host allocations
int streams = 0;           // open ones
std::uint64_t copied = 0;  // copies made
struct {
  std::uint64_t id = 0;
  std::uint64_t begin = 0;
  std::size_t bytes = 0;
} allocation;      // the only one, where there is one
int fail_at = -1;  // the call of cuMemcpyHtoDAsync that fails, counted down

constexpr int kInvalidValue = 1;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidContext = 201;

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? 0 : kInvalidDevice;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &mutex;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  ++depth;
  return context == &mutex ? 0 : kInvalidContext;
}
int cuCtxPopCurrent_v2(void** context) {
  --depth;
  *context = &mutex;
  return 0;
}
int cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
  if (depth == 0) return kInvalidContext;
  ++pinned;
  *out = std::malloc(bytes);
  return 0;
}
int cuMemFreeHost(void* memory) {
  --pinned;
  std::free(memory);
  return 0;
}
int cuStreamCreate(void** out, unsigned) {
  if (depth == 0) return kInvalidContext;
  ++streams;
  *out = new Stream;
  return 0;
}
int cuStreamSynchronize(void* stream) {
  for (const Copy& copy : static_cast<Stream*>(stream)->copies) {
    std::memcpy(reinterpret_cast<void*>(copy.to), copy.from, copy.bytes);  // NOLINT: an address
    ++copied;
  }
  static_cast<Stream*>(stream)->copies.clear();
  return 0;
}
int cuStreamDestroy_v2(void* stream) {
  --streams;
  delete static_cast<Stream*>(stream);
  return 0;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  if (depth == 0) return kInvalidContext;
  if (fail_at >= 0 && fail_at-- == 0) return 700;
  static_cast<Stream*>(stream)->copies.push_back({to, from, bytes});
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  if (depth == 0) return kInvalidContext;
  static_cast<Stream*>(stream)->copies.push_back(
      {reinterpret_cast<std::uint64_t>(to), reinterpret_cast<const void*>(from), bytes});  // NOLINT
  return 0;
}
int cuPointerGetAttribute(void* out, int attribute, std::uint64_t address) {
  if ((attribute != 9 && attribute != 7) || address < 4096) return kInvalidValue;
  if (attribute == 9)
    *static_cast<int*>(out) = 0;
  else
    *static_cast<std::uint64_t*>(out) = allocation.id;
  return 0;
}
int cuPointerSetAttribute(const void*, int, std::uint64_t) {
  return 0;
}
int cuMemGetAddressRange_v2(std::uint64_t* begin, std::size_t* bytes, std::uint64_t) {
  *begin = allocation.begin;
  *bytes = allocation.bytes;
  return allocation.bytes == 0 ? kInvalidValue : 0;
}
int cuMemGetHandleForAddressRange(void* out, std::uint64_t begin, std::size_t bytes, int kind,
                                  unsigned long long) {
  if (kind != 1 || begin % 4096 != 0 || bytes % 4096 != 0) return kInvalidValue;
  *static_cast<int*>(out) = memfd_create("allocation", MFD_CLOEXEC);
  return 0;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == kInvalidDevice ? "invalid device ordinal"
          : error == 700          ? "illegal address"
                                  : "bad";
  return 0;
}

// For tests.
int fake_cuda_left() {
  return pinned + streams + depth;
}
std::uint64_t fake_cuda_copies() {
  return copied;
}
void fake_cuda_allocation(std::uint64_t id, void* begin, std::size_t bytes) {
  allocation = {id, reinterpret_cast<std::uint64_t>(begin), bytes};
}
void fake_cuda_fail_at(int call) {
  fail_at = call;
}
}
