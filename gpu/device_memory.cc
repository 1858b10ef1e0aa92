#include "gpu/device_memory.h"

#include <link.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "gpu/cuda_driver.h"

namespace tributary::gpu {
namespace {

constexpr int kAttributeContext = 1;     // CU_POINTER_ATTRIBUTE_CONTEXT
constexpr int kAttributeMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kAttributeOrdinal = 9;     // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr unsigned kDeviceMemory = 2;    // CU_MEMORYTYPE_DEVICE
constexpr CuStream kDefaultStream = nullptr;

// How many libraries the process has loaded so far.
unsigned long long loads() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// The process's driver, once it has loaded it. Never unloaded: exit() may come at any time. The
// loader searches its path for a library that is not there, so it is asked again only after a load.
const CudaDriver* loaded_driver() {
  static std::atomic<const CudaDriver*> found{nullptr};
  static std::atomic<unsigned long long> loads_then{0};
  if (const CudaDriver* const driver = found.load(std::memory_order_acquire)) return driver;
  const unsigned long long now = loads();
  if (loads_then.load(std::memory_order_relaxed) == now) return nullptr;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (found.load(std::memory_order_relaxed) == nullptr) {
    found.store(CudaDriver::if_loaded().release(), std::memory_order_release);
    loads_then.store(now, std::memory_order_relaxed);
  }
  return found.load(std::memory_order_relaxed);
}

CuDevicePtr address_of(const void* pointer) {
  return reinterpret_cast<CuDevicePtr>(pointer);
}

// The context of memory; of memory that belongs to none (of a pool, mapped by hand), its device's
// primary one. Another thread than the one that copies may have made it, so it is made current.
class ContextOf {
 public:
  ContextOf(const CudaDriver& driver, CuDevicePtr address) : driver_(driver) {
    CuContext context = nullptr;
    if (driver.call().pointer_attribute(&context, kAttributeContext, address) != 0 ||
        context == nullptr)
      context = retain_primary(address);
    current_.emplace(driver, context);
  }
  ~ContextOf() {
    current_.reset();
    if (retained_) driver_.call().context_release(*retained_);
  }
  ContextOf(const ContextOf&) = delete;
  ContextOf& operator=(const ContextOf&) = delete;

 private:
  CuContext retain_primary(CuDevicePtr address) {
    int ordinal = -1;
    driver_.check(driver_.call().pointer_attribute(&ordinal, kAttributeOrdinal, address),
                  "the device of a buffer");
    CuDevice device = 0;
    driver_.check(driver_.call().device_get(&device, ordinal), "the device of a buffer");
    CuContext context = nullptr;
    driver_.check(driver_.call().context_retain(&context, device), "the GPU's context");
    retained_ = device;
    return context;
  }

  const CudaDriver& driver_;
  std::optional<CuDevice> retained_;
  std::optional<CurrentContext> current_;
};

const CudaDriver& needed_driver() {
  const CudaDriver* const driver = loaded_driver();
  if (driver == nullptr) throw GpuError("the process has not loaded the GPU's driver");
  return *driver;
}

}  // namespace

bool is_device_memory(const void* pointer) {
  if (pointer == nullptr) return false;
  const CudaDriver* const driver = loaded_driver();
  unsigned type = 0;
  return driver != nullptr &&
         driver->call().pointer_attribute(&type, kAttributeMemoryType, address_of(pointer)) == 0 &&
         type == kDeviceMemory;
}

void copy_from_device(void* host, const void* device, std::size_t bytes) {
  if (bytes == 0) return;
  const CudaDriver& driver = needed_driver();
  const ContextOf context(driver, address_of(device));
  driver.check(driver.call().copy_to_host(host, address_of(device), bytes, kDefaultStream),
               "copying from the GPU");
  driver.check(driver.call().stream_synchronize(kDefaultStream), "copying from the GPU");
}

// The wait is needed: the driver's plain copy of pageable memory may return before the GPU has it.
void copy_to_device(void* device, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  const CudaDriver& driver = needed_driver();
  const ContextOf context(driver, address_of(device));
  driver.check(driver.call().copy_to_device(address_of(device), host, bytes, kDefaultStream),
               "copying to the GPU");
  driver.check(driver.call().stream_synchronize(kDefaultStream), "copying to the GPU");
}

}  // namespace tributary::gpu
