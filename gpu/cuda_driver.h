// The part of NVIDIA's driver interface that the pool and the MPI library need, loaded at run time:
// nothing is linked.
//
// Names, values and signatures are those of the CUDA Driver API reference, version 4 and later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace tributary::gpu {

class GpuError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using CuResult = int;
using CuDevice = int;
using CuContext = void*;
using CuStream = void*;
using CuDevicePtr = std::uint64_t;

struct CudaFunctions {
  CuResult (*init)(unsigned) = nullptr;
  CuResult (*device_get)(CuDevice*, int) = nullptr;
  CuResult (*context_retain)(CuContext*, CuDevice) = nullptr;
  CuResult (*context_release)(CuDevice) = nullptr;
  CuResult (*context_push)(CuContext) = nullptr;
  CuResult (*context_pop)(CuContext*) = nullptr;
  CuResult (*host_alloc)(void**, std::size_t, unsigned) = nullptr;
  CuResult (*host_free)(void*) = nullptr;
  CuResult (*stream_create)(CuStream*, unsigned) = nullptr;
  CuResult (*stream_destroy)(CuStream) = nullptr;
  CuResult (*stream_synchronize)(CuStream) = nullptr;
  CuResult (*copy_to_device)(CuDevicePtr, const void*, std::size_t, CuStream) = nullptr;
  CuResult (*pointer_attribute)(void*, int, CuDevicePtr) = nullptr;
  CuResult (*error_string)(CuResult, const char**) = nullptr;
  CuResult (*copy_to_host)(void*, CuDevicePtr, std::size_t, CuStream) = nullptr;
  CuResult (*address_range)(CuDevicePtr*, std::size_t*, CuDevicePtr) = nullptr;
  CuResult (*set_pointer_attribute)(const void*, int, CuDevicePtr) = nullptr;
  // Only in drivers from 11.7 on, else null.
  CuResult (*range_handle)(void*, CuDevicePtr, std::size_t, int, unsigned long long) = nullptr;
};

class CudaDriver {
 public:
  // Throws GpuError that names the missing part.
  explicit CudaDriver(const std::string& library = "libcuda.so.1");
  // The driver that this process has loaded, and initialised, itself; null: none. Throws GpuError
  // that names the missing function.
  static std::unique_ptr<CudaDriver> if_loaded(const std::string& library = "libcuda.so.1");
  ~CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  [[nodiscard]] const CudaFunctions& call() const { return functions_; }
  // Throws GpuError: "WHAT: the driver's text".
  void check(CuResult result, const std::string& what) const;

 private:
  explicit CudaDriver(void* handle);

  void* library_ = nullptr;
  CudaFunctions functions_;
};

// Makes a context the current one of this thread, until destruction.
class CurrentContext {
 public:
  CurrentContext(const CudaDriver& driver, CuContext context) : driver_(driver) {
    driver.check(driver.call().context_push(context), "the GPU's context");
  }
  ~CurrentContext() {
    CuContext old = nullptr;
    driver_.call().context_pop(&old);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const CudaDriver& driver_;
};

}  // namespace tributary::gpu
