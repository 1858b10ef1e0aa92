// GPUs by a library with NVML's names; no GPU has been asked yet (C2).
#include "tools/agentd/pods/nvml_probe.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace tributary::agentd {
namespace {

// Beside the test's binary, as both build systems put it.
std::string fake_library() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* path : {"libfake_nvml.so", "../tests/libfake_nvml.so", "../lib/libfake_nvml.so"})
    if (std::filesystem::exists(program / path)) return program / path;
  return "libfake_nvml.so";
}

TEST(NvmlProbe, C2_GpusHaveTheirFigures) {
  const NvmlProbe probe(fake_library());
  const auto devices = probe.devices();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].device.name, "gpu0");
  EXPECT_EQ(devices[0].device.kind, "nvidia.com/gpu");
  EXPECT_EQ(devices[0].device.memory_bytes, 80ull << 30);
  EXPECT_EQ(devices[0].device.free_bytes, 60ull << 30);
  EXPECT_EQ(devices[0].device.load, 0.35);
  EXPECT_EQ(devices[0].paths[0], "/dev/nvidia3");
  EXPECT_EQ(devices[0].device.problem, "");
  EXPECT_EQ(devices[1].device.problem, "NVML cannot open the GPU: GPU is lost");
}

TEST(NvmlProbe, AMachineWithoutTheLibraryOrDriverHasNone) {
  EXPECT_TRUE(NvmlProbe("libno-such-nvml.so").devices().empty());
  ASSERT_EQ(setenv("FAKE_NVML_INIT", "9", 1), 0);
  EXPECT_TRUE(NvmlProbe(fake_library()).devices().empty());
  ASSERT_EQ(setenv("FAKE_NVML_INIT", "15", 1), 0);
  EXPECT_THROW(NvmlProbe{fake_library()}, std::runtime_error);
  unsetenv("FAKE_NVML_INIT");
}

}  // namespace
}  // namespace tributary::agentd
