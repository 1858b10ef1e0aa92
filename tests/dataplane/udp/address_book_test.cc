// The endpoints that engines are given: what UdpFrontEnd::read() makes of the same switches'
// frames.
#include "dataplane/udp/address_book.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kAbove = 0x0A4D00FE;
constexpr wire::MacAddress kMac = {2, 0, 0, 0, 0, 9};

TEST(UdpAddressBook, Rule18_AParentIsAHostBehindItsUplink) {
  const Endpoint parent =
      kUdpAddresses.parent(config::ParentConfig{"root", 1, kAbove, kMac, "up", 0, 2}, 3);
  EXPECT_TRUE(parent.is_same_host(wire::UdpPeer(3, 47001, kAbove, {}, kMac)));
  EXPECT_FALSE(parent.is_same_host(wire::UdpPeer(2, 47001, kAbove, {}, kMac)));
  EXPECT_FALSE(parent.is_same_host(wire::UdpPeer(3, 47001, kAbove + 1, {}, kMac)));
  EXPECT_FALSE(parent.is_same_host(wire::UdpPeer(3, 47001, kAbove, 5, kMac)));
  EXPECT_FALSE(parent.is_same_host(wire::UdpPeer(3, 47001, kAbove)));
}

TEST(UdpAddressBook, T10_ARootHasOneUdpPortForEachShard) {
  config::SwitchConfig config;
  config.udp_base_port = 6000;
  config::JobConfig job;
  job.shards = 2;
  job.hosting = config::HostingConfig{kAbove, kMac};
  const std::vector<Endpoint> root = kUdpAddresses.root(config, job, 4);
  ASSERT_EQ(root.size(), 2u);
  EXPECT_EQ(root[0], wire::UdpPeer(4, 6000, kAbove, {}, kMac));
  EXPECT_EQ(root[1], wire::UdpPeer(4, 6001, kAbove, {}, kMac));
}

TEST(UdpAddressBook, BehindARouterTheyHaveNoMacAddress) {
  const Endpoint parent =
      kUdpAddresses.parent(config::ParentConfig{"root", 1, kAbove, {}, "up", 0, 2}, 3);
  EXPECT_TRUE(wire::UdpPeer(parent).is_routed());
  config::JobConfig job;
  job.hosting = config::HostingConfig{kAbove, {}};
  EXPECT_TRUE(wire::UdpPeer(kUdpAddresses.root({}, job, 4).at(0)).is_routed());
}

}  // namespace
}  // namespace tributary::dataplane
