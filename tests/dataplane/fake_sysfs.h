// A machine that is not there, as its kernel would describe it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tributary::dataplane {

class FakeSysfs {
 public:
  FakeSysfs() {
    std::string name = (std::filesystem::path(testing::TempDir()) / "sysfsXXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory");
    root_ = name;
  }
  ~FakeSysfs() { std::filesystem::remove_all(root_); }
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;

  void node(int number, const std::vector<int>& cpus, unsigned free_megabytes) {
    const auto at = root_ / "devices/system/node" / ("node" + std::to_string(number));
    std::filesystem::create_directories(at);
    for (const int cpu : cpus) write(at / ("cpu" + std::to_string(cpu)), "");
    write(at / "hugepages/hugepages-2048kB/free_hugepages", std::to_string(free_megabytes / 2));
    write(at / "hugepages/hugepages-1048576kB/free_hugepages", "0");
  }
  void card(const std::string& address, int node) {
    write(root_ / "bus/pci/devices" / address / "numa_node", std::to_string(node));
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::filesystem::path root_;
};

}  // namespace tributary::dataplane
