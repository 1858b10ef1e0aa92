// Devices that an operator declares in a file: for tests, and for hardware without a probe.
//
//   devices:
//     - name: npu0
//       kind: example.com/npu        # vendor/kind
//       memory: 16Gi
//       free: 12Gi                   # default: all of it
//       load: 0.25                   # used share; default 0
//       paths: [/dev/npu0]           # device nodes for the container
//       env: [NPU_MODE=fast]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/field.h"
#include "manager/pods/node.h"

namespace tributary::agentd {

// A device with what a container gets of it.
struct LocalDevice {
  manager::Device device;
  std::vector<std::string> paths;
  std::vector<std::string> env;
};

// Throws config::ConfigErrors.
std::vector<LocalDevice> parse_declared_devices(std::string_view text, const std::string& file);
std::vector<config::KeyInfo> describe_devices_schema();

}  // namespace tributary::agentd
