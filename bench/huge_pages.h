// Hugepages for as long as a benchmark runs: those that are free, or more of them where it may ask.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

namespace tributary::bench {

class HugePages {
 public:
  // So many megabytes on pages of 2 MiB. The kernel may have no room for them.
  explicit HugePages(std::size_t megabytes) {
    const std::size_t wanted = megabytes / 2;
    const std::size_t free = read("free_hugepages");
    if (free < wanted) {
      before_ = read("nr_hugepages");
      grown_ = write(before_ + wanted - free);
    }
    reserved_ = read("free_hugepages") >= wanted;
  }
  // Pages that are still in use then go back when they are given up.
  ~HugePages() {
    if (grown_) write(before_);
  }
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  [[nodiscard]] bool reserved() const { return reserved_; }

 private:
  static std::string path(const char* name) {
    return std::string("/sys/kernel/mm/hugepages/hugepages-2048kB/").append(name);
  }
  static std::size_t read(const char* name) {
    std::size_t pages = 0;
    std::ifstream(path(name)) >> pages;
    return pages;
  }
  static bool write(std::size_t pages) {
    return static_cast<bool>(std::ofstream(path("nr_hugepages")) << pages << std::flush);
  }

  std::size_t before_ = 0;
  bool grown_ = false;
  bool reserved_ = false;
};

}  // namespace tributary::bench
