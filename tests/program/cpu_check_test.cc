#include "tools/program/cpu_check.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tributary::tools {
namespace {

constexpr std::uint32_t kSsse3 = 1U << 9;
constexpr std::uint32_t kSse41 = 1U << 19;
constexpr std::uint32_t kSse42 = 1U << 20;
constexpr std::uint32_t kPopcnt = 1U << 23;
constexpr std::uint32_t kAll = kSsse3 | kSse41 | kSse42 | kPopcnt;

std::string error_of(std::uint32_t ecx, std::size_t size = 512) {
  std::array<char, 512> text{};
  return {text.data(), old_cpu_error("/usr/bin/tributary-psd", ecx, text.data(), size)};
}

TEST(CpuCheck, NamesProgramAndWhatLacks) {
  EXPECT_TRUE(error_of(0).starts_with(
      "tributary-psd: this CPU lacks SSSE3, SSE4.1, SSE4.2, POPCNT; required: x86-64 with SSE4.2"));
  EXPECT_TRUE(
      error_of(~kAll).starts_with("tributary-psd: this CPU lacks SSSE3, SSE4.1, SSE4.2, POPCNT;"));
  EXPECT_TRUE(
      error_of(kSsse3 | kSse41).starts_with("tributary-psd: this CPU lacks SSE4.2, POPCNT;"));
  EXPECT_TRUE(error_of(kAll & ~kSse42).starts_with("tributary-psd: this CPU lacks SSE4.2;"));
  EXPECT_TRUE(error_of(0).ends_with("\n"));
}

TEST(CpuCheck, SaysNothingWhereNoneLacks) {
  EXPECT_EQ(error_of(kAll), "");
  EXPECT_EQ(error_of(~0U), "");
}

TEST(CpuCheck, StaysWithinItsMemory) {
  EXPECT_EQ(error_of(0, 13), "tributary-psd");
  EXPECT_EQ(error_of(0, 0), "");
}

}  // namespace
}  // namespace tributary::tools
