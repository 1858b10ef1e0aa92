#include "dataplane/frame/frame_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

config::SwitchConfig ports(std::size_t count, const std::string& devargs, std::uint32_t mtu) {
  config::SwitchConfig config;
  for (std::size_t i = 0; i < count; ++i) config.ports.push_back({"p", devargs, mtu});
  return config;
}

TEST(FramePool, RoomForTheLargestFrameOfAnyPort) {
  EXPECT_GE(size_pool(ports(1, "net_null0", 9000)).data_room, 9018 + 128);
  auto config = ports(2, "net_null0", 1500);
  config.ports[1].devargs = "net_af_packet0,iface=a,framesz=16384,blocksz=65536";
  EXPECT_GE(size_pool(config).data_room, 16384 + 128);
}

TEST(FramePool, ShrinksToTheMemoryItMayUse) {
  auto config = ports(4, "net_null0", 1500);
  const auto ample = size_pool(config);
  config.memory.megabytes = 28;
  const auto tight = size_pool(config);
  EXPECT_LT(tight.buffers, ample.buffers);
  EXPECT_LE(std::uint64_t{tight.buffers} * tight.data_room, 12u << 20);
}

TEST(FramePool, SaysHowMuchMemoryIsNeeded) {
  auto config = ports(32, "net_null0", 9000);
  config.memory.megabytes = 64;
  try {
    size_pool(config);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("memory.megabytes"));
    EXPECT_THAT(error.what(), testing::ContainsRegex("at least [0-9]+$"));
  }
}

}  // namespace
}  // namespace tributary::dataplane
