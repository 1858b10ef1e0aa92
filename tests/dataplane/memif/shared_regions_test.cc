#include "dataplane/memif/shared_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <limits>

#include "dataplane/memif/memif_refusal.h"
#include "tests/dataplane/memif/client_memory.h"

namespace tributary::dataplane {
namespace {

using testing::HasSubstr;

std::string refusal(const std::function<void()>& add) {
  try {
    add();
  } catch (const MemifRefusal& refused) {
    return refused.what();
  }
  return "accepted";
}

TEST(SharedRegionsTimed, C1_OnlyMemoryThatCannotShrinkIsMapped) {
  SharedRegions regions;
  const ClientMemory open(4096, 0);
  EXPECT_THAT(refusal([&] { regions.add(open.fd(), 4096); }), HasSubstr("F_SEAL_SHRINK"));
  const ClientMemory only_grows(4096, F_SEAL_GROW);
  EXPECT_THAT(refusal([&] { regions.add(only_grows.fd(), 4096); }), HasSubstr("F_SEAL_SHRINK"));
  const worker::FileDescriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(refusal([&] { regions.add(file.get(), 4096); }), HasSubstr("F_SEAL_SHRINK"));
  EXPECT_EQ(regions.size(), 0u);
}

TEST(SharedRegionsTimed, C1_ItsSizeIsWhatItHasWhenItComes) {
  SharedRegions regions;
  const ClientMemory memory(8192);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{8193}, UINT64_MAX})
    EXPECT_THAT(refusal([&] { regions.add(memory.fd(), bytes); }), HasSubstr("and has 8192"));
  regions.add(memory.fd(), 8192);
  EXPECT_EQ(::ftruncate(memory.fd(), 4096), -1) << "it is sealed";
}

TEST(SharedRegionsTimed, C1_TheSameMemoryComesOnce) {
  SharedRegions regions;
  const ClientMemory one(4096);
  const ClientMemory other(4096);
  regions.add(one.fd(), 4096);
  EXPECT_THAT(refusal([&] { regions.add(one.fd(), 4096); }), HasSubstr("memory of another one"));
  regions.add(other.fd(), 4096);
  EXPECT_EQ(regions.size(), 2u);
}

TEST(SharedRegionsTimed, C1_AllTogetherHaveALimit) {
  SharedRegions regions;
  const ClientMemory half(kMostSharedBytes / 2);
  const ClientMemory more(kMostSharedBytes / 2 + 1);
  regions.add(half.fd(), kMostSharedBytes / 2);
  EXPECT_THAT(refusal([&] { regions.add(more.fd(), more.bytes()); }), HasSubstr("more than"));
  regions.add(more.fd(), kMostSharedBytes / 2);
}

TEST(SharedRegionsTimed, C1_WhatIsFoundLiesWithinOneRegion) {
  SharedRegions regions;
  const ClientMemory memory(8192);
  regions.add(memory.fd(), 8192);
  *memory.at(8191) = std::byte{7};
  EXPECT_EQ(*regions.find(0, 8191, 1), std::byte{7});
  EXPECT_NE(regions.find(0, 0, 8192), nullptr);
  EXPECT_EQ(regions.find(0, 1, 8192), nullptr);
  EXPECT_EQ(regions.find(0, 8192, 1), nullptr);
  EXPECT_EQ(regions.find(0, 0, UINT32_MAX), nullptr);
  EXPECT_EQ(regions.find({0, 0, UINT32_MAX, UINT32_MAX, 0}), nullptr);
  EXPECT_EQ(regions.find({0, 1, 1, 0, 0}), nullptr) << "no such region";
}

}  // namespace
}  // namespace tributary::dataplane
