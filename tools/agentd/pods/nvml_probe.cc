#include "tools/agentd/pods/nvml_probe.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace tributary::agentd {
namespace {

// Types and values of nvml.h, version 2 of the interface.
using Handle = void*;
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Utilization {
  unsigned gpu;  // percent
  unsigned memory;
};
constexpr int kSuccess = 0;
constexpr int kDriverNotLoaded = 9;
constexpr unsigned kMostGpus = 64;

}  // namespace

struct NvmlProbe::Inside {
  explicit Inside(void* loaded) : library(loaded) {
    find("nvmlInit_v2", init);
    find("nvmlShutdown", shutdown);
    find("nvmlErrorString", error_string);
    find("nvmlDeviceGetCount_v2", get_count);
    find("nvmlDeviceGetHandleByIndex_v2", get_handle);
    find("nvmlDeviceGetMemoryInfo", get_memory);
    find("nvmlDeviceGetUtilizationRates", get_utilization);
    find("nvmlDeviceGetMinorNumber", get_minor);
  }
  ~Inside() {
    if (started) shutdown();
    dlclose(library);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  template <typename Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(std::string("NVML has no ") + name);
  }
  [[nodiscard]] std::string words(const char* doing, int code) const {
    return std::string("NVML cannot ").append(doing).append(": ").append(error_string(code));
  }
  // Returns the first problem; empty: none.
  std::string read(unsigned index, LocalDevice& device) const;

  void* const library;
  bool started = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*get_count)(unsigned*) = nullptr;
  int (*get_handle)(unsigned, Handle*) = nullptr;
  int (*get_memory)(Handle, Memory*) = nullptr;
  int (*get_utilization)(Handle, Utilization*) = nullptr;
  int (*get_minor)(Handle, unsigned*) = nullptr;
};

std::string NvmlProbe::Inside::read(unsigned index, LocalDevice& device) const {
  Handle handle = nullptr;
  if (const int code = get_handle(index, &handle); code != kSuccess)
    return words("open the GPU", code);
  unsigned minor = 0;
  if (const int code = get_minor(handle, &minor); code != kSuccess)
    return words("read the minor number", code);
  device.paths = {"/dev/nvidia" + std::to_string(minor), "/dev/nvidiactl"};
  if (std::filesystem::exists("/dev/nvidia-uvm")) device.paths.push_back("/dev/nvidia-uvm");
  Memory memory{};
  if (const int code = get_memory(handle, &memory); code != kSuccess)
    return words("read the memory", code);
  device.device.memory_bytes = memory.total;
  device.device.free_bytes = memory.free;
  Utilization used{};
  if (const int code = get_utilization(handle, &used); code != kSuccess)
    return words("read the load", code);
  device.device.load = used.gpu / 100.0;
  return "";
}

NvmlProbe::NvmlProbe(const std::string& library) {
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return;
  inside_ = std::make_unique<Inside>(loaded);
  const int code = inside_->init();
  inside_->started = code == kSuccess;
  if (code == kDriverNotLoaded)
    inside_.reset();
  else if (code != kSuccess)
    throw std::runtime_error(inside_->words("start", code));
}

NvmlProbe::~NvmlProbe() = default;

std::vector<LocalDevice> NvmlProbe::devices() const {
  std::vector<LocalDevice> found;
  if (!inside_) return found;
  unsigned count = 0;
  if (const int code = inside_->get_count(&count); code != kSuccess)
    throw std::runtime_error(inside_->words("count the GPUs", code));
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    LocalDevice device;
    device.device.name = "gpu" + std::to_string(i);
    device.device.kind = kNvidiaKind;
    device.device.problem = inside_->read(i, device);
    found.push_back(std::move(device));
  }
  return found;
}

}  // namespace tributary::agentd
