// Accelerators by PCI id, in a folder that stands for sysfs; no card has been probed yet (C2).
#include "tools/agentd/pods/pci_probe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/manager/store/scratch.h"

namespace tributary::agentd {
namespace {

class Sysfs {
 public:
  Sysfs() : root_(scratch_.file() + ".sys") {}
  [[nodiscard]] const std::string& root() const { return root_; }
  std::filesystem::path add(const std::string& address, const char* vendor, const char* device) {
    std::filesystem::path path = root_ + "/bus/pci/devices/" + address;
    std::filesystem::create_directories(path);
    std::ofstream(path / "vendor") << vendor << '\n';
    std::ofstream(path / "device") << device << '\n';
    return path;
  }

 private:
  manager::Scratch scratch_;
  std::string root_;
};

TEST(PciProbe, C2_KnownIdsBecomeDevices) {
  Sysfs sysfs;
  std::filesystem::create_directories(sysfs.add("0000:04:00.0", "0x1da3", "0x1020") /
                                      "accel/accel1");
  std::filesystem::create_directories(sysfs.add("0000:03:00.0", "0x1da3", "0x1020") /
                                      "accel/accel0");
  sysfs.add("0000:05:00.0", "0x15b3", "0xa2dc");
  sysfs.add("0000:06:00.0", "0x8086", "0x100e");
  const auto devices = pci_devices(sysfs.root());
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].device.name, "npu0");
  EXPECT_EQ(devices[0].device.kind, "habana.ai/npu");
  EXPECT_EQ(devices[0].paths, std::vector<std::string>{"/dev/accel/accel0"});
  EXPECT_EQ(devices[1].device.name, "npu1");
  EXPECT_EQ(devices[2].device.kind, "nvidia.com/dpu");
  EXPECT_TRUE(devices[2].paths.empty());
}

TEST(PciProbe, AMachineWithoutPciHasNone) {
  EXPECT_TRUE(pci_devices("/no/such/folder").empty());
}

}  // namespace
}  // namespace tributary::agentd
