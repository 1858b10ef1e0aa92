// Storm control: a limit per port and kind of flooded frame; what has a port of its own is free.
#include "dataplane/bridge/storm.h"

#include <gtest/gtest.h>

#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {
namespace {

const wire::MacAddress kGroup = {0x01, 0x00, 0x5e, 1, 2, 3};

config::SwitchConfig storm_config() {
  auto config = test_config(3);
  config.ports[0].storm = {.broadcast_pps = 10, .multicast_pps = 400, .unknown_unicast_pps = 0};
  config.ports[1].storm = {.broadcast_pps = 0, .multicast_pps = 0, .unknown_unicast_pps = 10};
  return config;
}

class Storm : public testing::Test {
 protected:
  RingSwitch sw{storm_config()};

  // How many of so many frames went on.
  std::size_t flood(std::size_t port, const wire::MacAddress& to, std::size_t frames) {
    for (std::size_t i = 0; i < frames; ++i) {
      sw.inject(port, l2_frame(to, host(static_cast<std::uint8_t>(1 + port))));
      if (i % kBurst == kBurst - 1) sw.turn();
    }
    sw.turn();
    sw.sent(0);
    sw.sent(1);
    return sw.sent(2).size();
  }
};

TEST_F(Storm, BurstThenRate) {
  EXPECT_EQ(flood(0, kEverybody, 100), 32u);  // at least so many at once
  EXPECT_EQ(sw.drops(0, DropReason::storm_control), 68u);
  sw.now = sw.now + Duration::ms(500);
  EXPECT_EQ(flood(0, kEverybody, 100), 5u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Storm, KindsAndPortsAreApart) {
  flood(0, kEverybody, 100);
  EXPECT_EQ(flood(0, kGroup, 100), 40u);       // a tenth of a second's worth
  EXPECT_EQ(flood(0, host(99), 100), 100u);    // no limit
  EXPECT_EQ(flood(1, kEverybody, 100), 100u);  // nor here
  EXPECT_EQ(flood(1, host(99), 100), 32u);
}

TEST_F(Storm, KnownAddressesAreNotLimited) {
  sw.inject(2, l2_frame(kEverybody, host(9)));
  sw.turn();
  EXPECT_EQ(flood(1, host(9), 100), 100u);
  EXPECT_EQ(sw.drops(1, DropReason::storm_control), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
