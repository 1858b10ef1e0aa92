#include "worker/transport/checksum_hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::worker {
namespace {

TEST(ChecksumHint, NamesVirtualInterfacesThatLeaveSumsUnfinished) {
  EXPECT_THAT(checksum_hint("eth0", "veth", true),
              testing::AllOf(testing::HasSubstr("eth0 (veth)"),
                             testing::HasSubstr("ethtool -K eth0 tx off")));
  EXPECT_EQ(checksum_hint("eth0", "veth", false), "");
  EXPECT_EQ(checksum_hint("eth0", "mlx5_core", true), "") << "the card computes them";
}

TEST(ChecksumHint, SaysNothingOfInterfacesThatAreNotThere) {
  EXPECT_EQ(checksum_hint(0), "");
  EXPECT_EQ(checksum_hint(1 << 30), "");
}

}  // namespace
}  // namespace tributary::worker
