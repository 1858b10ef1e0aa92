#include "tools/agentd/pods/pci_probe.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

namespace tributary::agentd {
namespace {

namespace fs = std::filesystem;

struct Known {
  const char* vendor;
  const char* device;
  const char* kind;
};
constexpr std::array<Known, 7> kKnown = {{{"0x15b3", "0xa2d6", "nvidia.com/dpu"},  // BlueField-2
                                          {"0x15b3", "0xa2dc", "nvidia.com/dpu"},  // BlueField-3
                                          {"0x1ac1", "0x089a", "google.com/tpu"},  // Coral Edge TPU
                                          {"0x1da3", "0x1000", "habana.ai/npu"},   // Gaudi
                                          {"0x1da3", "0x1020", "habana.ai/npu"},   // Gaudi 2
                                          {"0x19e5", "0xd100", "huawei.com/npu"},  // Ascend 310
                                          {"0x19e5", "0xd801", "huawei.com/npu"}}};  // Ascend 910
// Folders of a device in which its driver shows its node, and the node's folder in /dev.
constexpr std::array<std::pair<const char*, const char*>, 2> kClasses = {
    {{"accel", "/dev/accel/"}, {"apex", "/dev/"}}};

std::string word_of(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

const Known* known(const fs::path& device) {
  const std::string vendor = word_of(device / "vendor");
  const std::string id = word_of(device / "device");
  const auto at = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& one) {
    return vendor == one.vendor && id == one.device;
  });
  return at == kKnown.end() ? nullptr : at;
}

std::vector<std::string> nodes_of(const fs::path& device) {
  std::vector<std::string> nodes;
  std::error_code none;
  for (const auto& [folder, prefix] : kClasses)
    for (const auto& entry : fs::directory_iterator(device / folder, none))
      nodes.push_back(prefix + entry.path().filename().string());
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

std::vector<LocalDevice> pci_devices(const std::string& root) {
  std::vector<fs::path> addresses;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root + "/bus/pci/devices", none))
    addresses.push_back(entry.path());
  std::sort(addresses.begin(), addresses.end());
  std::map<std::string, int> numbers;
  std::vector<LocalDevice> found;
  for (const fs::path& address : addresses) {
    const Known* const row = known(address);
    if (row == nullptr) continue;
    const std::string kind = row->kind;
    const std::string word = kind.substr(kind.find('/') + 1);
    LocalDevice local;
    local.device.kind = kind;
    local.device.name = word + std::to_string(numbers[word]++);
    local.paths = nodes_of(address);
    found.push_back(std::move(local));
  }
  return found;
}

}  // namespace tributary::agentd
