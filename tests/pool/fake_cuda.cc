// A library with the names of NVIDIA's driver whose GPU 0 is host memory: what its users call is
// real, the GPU is not. Copies happen when their stream is waited for, so a buffer that is used
// again too early shows. Guarded memory can only be touched by the functions here: all others
// crash.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
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
Stream default_stream;
struct Guarded {
  std::size_t bytes;
  std::byte* open;  // the same memory, for copies
};
std::map<std::uint64_t, Guarded> guarded;  // by address
bool fail_reads = false;                   // copies to the host fail
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

const std::pair<const std::uint64_t, Guarded>* find_guarded(std::uint64_t address) {
  auto at = guarded.upper_bound(address);
  if (at == guarded.begin()) return nullptr;
  --at;
  return address < at->first + at->second.bytes ? &*at : nullptr;
}

// Where a copy may read or write.
std::byte* opened(std::uint64_t address) {
  const auto* const found = find_guarded(address);
  return found == nullptr ? reinterpret_cast<std::byte*>(address)  // NOLINT: an address
                          : found->second.open + (address - found->first);
}

Stream& stream_of(void* stream) {
  return stream == nullptr ? default_stream : *static_cast<Stream*>(stream);
}

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
  for (const Copy& copy : stream_of(stream).copies) {
    std::memcpy(opened(copy.to), opened(reinterpret_cast<std::uint64_t>(copy.from)), copy.bytes);
    ++copied;
  }
  stream_of(stream).copies.clear();
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
  stream_of(stream).copies.push_back({to, from, bytes});
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  if (depth == 0) return kInvalidContext;
  if (fail_reads) return 700;
  stream_of(stream).copies.push_back(
      {reinterpret_cast<std::uint64_t>(to), reinterpret_cast<const void*>(from), bytes});  // NOLINT
  return 0;
}
int cuPointerGetAttribute(void* out, int attribute, std::uint64_t address) {
  if (attribute == 1 || attribute == 2) {
    if (find_guarded(address) == nullptr) return kInvalidValue;
    if (attribute == 1)
      *static_cast<void**>(out) = &mutex;
    else
      *static_cast<unsigned*>(out) = 2;
    return 0;
  }
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
void* fake_cuda_guarded(std::size_t bytes) {
  const int file = memfd_create("guarded", MFD_CLOEXEC);
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
  void* const closed = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  void* const open = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  guarded[reinterpret_cast<std::uint64_t>(closed)] = {bytes, static_cast<std::byte*>(open)};
  return closed;
}
void fake_cuda_store(void* device, const void* host, std::size_t bytes) {
  std::memcpy(opened(reinterpret_cast<std::uint64_t>(device)), host, bytes);
}
void fake_cuda_load(void* host, const void* device, std::size_t bytes) {
  std::memcpy(host, opened(reinterpret_cast<std::uint64_t>(device)), bytes);
}
void fake_cuda_fail_reads(int fail) {
  fail_reads = fail != 0;
}
void fake_cuda_fail_at(int call) {
  fail_at = call;
}
}
