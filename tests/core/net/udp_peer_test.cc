#include "core/net/udp_peer.h"

#include <gtest/gtest.h>

namespace tributary::wire {
namespace {

TEST(UdpPeer, Rule20_GoesIntoAnEndpointAndBack) {
  for (const std::optional<std::uint16_t> tag : {std::optional<std::uint16_t>(), {0}, {0xE005}}) {
    const UdpPeer peer(7, 47000, 0x0A4D0001, tag, {0x02, 0x11, 0x22, 0x33, 0x44, 0x55});
    const Endpoint e = peer;
    EXPECT_EQ(UdpPeer(e), peer);
    EXPECT_EQ(e.front_end(), FrontEndId::udp);
    EXPECT_EQ(e.station(), 0x021122334455u);
  }
}

TEST(UdpPeer, BehindARouterItHasNoMacAddress) {
  EXPECT_TRUE(UdpPeer(0, 47000, 0x0A4D0001).is_routed());
  EXPECT_FALSE(UdpPeer(0, 47000, 0x0A4D0001, {}, {0, 0, 0, 0, 0, 1}).is_routed());
}

TEST(UdpPeer, ShardsHaveUdpPortsThatFollowEachOther) {
  const UdpPeer first(7, 47000, 0x0A4D0001, {}, {0, 0, 0, 0, 0, 1});
  const std::vector<Endpoint> peers = peers_of_shards(first, 3);
  ASSERT_EQ(peers.size(), 3u);
  for (std::uint16_t shard = 0; shard < 3; ++shard) {
    UdpPeer wanted = first;
    wanted.udp_port = static_cast<std::uint16_t>(47000 + shard);
    EXPECT_EQ(UdpPeer(peers[shard]), wanted);
  }
}

}  // namespace
}  // namespace tributary::wire
