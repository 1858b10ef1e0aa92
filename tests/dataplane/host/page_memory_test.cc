#include "dataplane/host/page_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tributary::dataplane {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// What the kernel says of the mapping that has this address: its VmFlags.
std::string flags_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-')
      inside = begin <= wanted && wanted < end;
    else if (inside && line.starts_with("VmFlags:"))
      return line + " ";
  }
  return "";
}

TEST(PageMemory, IsZeroAndAsLongAsAskedFor) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{5000}, kHugePage, 2 * kHugePage + 64}) {
    const PageMemory memory(bytes);
    ASSERT_EQ(memory.bytes().size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % 4096, 0u);
    EXPECT_TRUE(std::all_of(memory.bytes().begin(), memory.bytes().end(),
                            [](std::byte b) { return b == std::byte{0}; }));
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{1});
  }
  EXPECT_TRUE(PageMemory(0).bytes().empty());
}

TEST(PageMemory, AsksForHugePagesWhereOneFits) {
  const bool kernel_has_some = std::filesystem::exists("/sys/kernel/mm/transparent_hugepage");
  const PageMemory large(3 * kHugePage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.bytes().data()) % kHugePage, 0u);
  EXPECT_EQ(flags_at(large.bytes().data()).find(" hg ") != std::string::npos, kernel_has_some);
  const PageMemory small(4096);
  EXPECT_EQ(flags_at(small.bytes().data()).find(" hg "), std::string::npos);
}

}  // namespace
}  // namespace tributary::dataplane
