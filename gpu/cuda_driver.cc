#include "gpu/cuda_driver.h"

#include <dlfcn.h>

namespace tributary::gpu {
namespace {

template <typename Function>
void find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (out == nullptr) throw GpuError(std::string("the GPU's driver has no ") + name);
}

CudaFunctions functions_of(void* library) {
  CudaFunctions f;
  find(library, "cuInit", f.init);
  find(library, "cuDeviceGet", f.device_get);
  find(library, "cuDevicePrimaryCtxRetain", f.context_retain);
  find(library, "cuDevicePrimaryCtxRelease_v2", f.context_release);
  find(library, "cuCtxPushCurrent_v2", f.context_push);
  find(library, "cuCtxPopCurrent_v2", f.context_pop);
  find(library, "cuMemHostAlloc", f.host_alloc);
  find(library, "cuMemFreeHost", f.host_free);
  find(library, "cuStreamCreate", f.stream_create);
  find(library, "cuStreamDestroy_v2", f.stream_destroy);
  find(library, "cuStreamSynchronize", f.stream_synchronize);
  find(library, "cuMemcpyHtoDAsync_v2", f.copy_to_device);
  find(library, "cuPointerGetAttribute", f.pointer_attribute);
  find(library, "cuGetErrorString", f.error_string);
  find(library, "cuMemcpyDtoHAsync_v2", f.copy_to_host);
  find(library, "cuMemGetAddressRange_v2", f.address_range);
  find(library, "cuPointerSetAttribute", f.set_pointer_attribute);
  f.range_handle =
      reinterpret_cast<decltype(f.range_handle)>(dlsym(library, "cuMemGetHandleForAddressRange"));
  return f;
}

}  // namespace

std::unique_ptr<CudaDriver> CudaDriver::if_loaded(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  try {
    return std::unique_ptr<CudaDriver>(new CudaDriver(handle));
  } catch (...) {
    dlclose(handle);
    throw;
  }
}

CudaDriver::CudaDriver(void* handle) : library_(handle), functions_(functions_of(handle)) {}

CudaDriver::CudaDriver(const std::string& library)
    : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr)
    throw GpuError("a target in a GPU's memory needs NVIDIA's driver: " + std::string(dlerror()));
  try {
    functions_ = functions_of(library_);
    check(functions_.init(0), "starting the GPU's driver");
  } catch (...) {
    dlclose(library_);
    throw;
  }
}

CudaDriver::~CudaDriver() {
  dlclose(library_);
}

void CudaDriver::check(CuResult result, const std::string& what) const {
  if (result == 0) return;
  const char* text = nullptr;
  if (functions_.error_string(result, &text) != 0 || text == nullptr) text = "unknown error";
  throw GpuError(what + ": " + text + " (" + std::to_string(result) + ")");
}

}  // namespace tributary::gpu
