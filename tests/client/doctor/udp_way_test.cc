#include "tools/client/doctor/udp_way.h"

#include <gtest/gtest.h>

#include "config/model/switch_config.h"

namespace tributary::client {
namespace {

TEST(UdpWay, AnAddressHasAPortOrTheUsualOne) {
  const auto way = parse_udp_way("udp://10.0.0.1:5000");
  ASSERT_TRUE(way);
  EXPECT_EQ(way->ipv4, 0x0A000001u);
  EXPECT_EQ(way->port, 5000);
  EXPECT_EQ(way->address, "udp://10.0.0.1:5000");
  EXPECT_EQ(parse_udp_way("udp://10.0.0.1")->port, config::kDefaultUdpBasePort);
}

TEST(UdpWay, OtherTextsAreNone) {
  for (const char* text :
       {"", "10.0.0.1", "tcp://10.0.0.1", "udp://", "udp://host",
        "udp://10.0.0.1:", "udp://10.0.0.1:0", "udp://10.0.0.1:65536", "udp://10.0.0.1:47000x"})
    EXPECT_FALSE(parse_udp_way(text)) << text;
}

}  // namespace
}  // namespace tributary::client
