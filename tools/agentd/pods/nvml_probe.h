// NVIDIA's GPUs, by the management library NVML, which is loaded where the driver has put it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/agentd/pods/declared_devices.h"

namespace tributary::agentd {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
inline constexpr const char* kNvidiaKind = "nvidia.com/gpu";

class NvmlProbe {
 public:
  // A machine without the library, or without GPUs, has no devices. Throws std::runtime_error for
  // one that is there and does not work.
  explicit NvmlProbe(const std::string& library = kNvmlLibrary);
  ~NvmlProbe();
  NvmlProbe(const NvmlProbe&) = delete;
  NvmlProbe& operator=(const NvmlProbe&) = delete;

  // gpu0, gpu1, ... A GPU that does not answer is there with its problem.
  [[nodiscard]] std::vector<LocalDevice> devices() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::agentd
