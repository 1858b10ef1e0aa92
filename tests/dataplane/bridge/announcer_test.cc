// Gratuitous ARP: when links come up, and never else.
#include "dataplane/bridge/announcer.h"

#include <gtest/gtest.h>

#include <array>

#include "core/net/arp.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

class Announcing : public testing::Test {
 protected:
  Announcing() { sw.packet_loop().announce_address(); }
  void turn_all() {
    for (std::size_t i = 0; i < 4; ++i) sw.turn();  // a port a turn
  }
  // True for one frame, that says who has the switch's address.
  bool announced(std::size_t port) {
    const auto frames = sw.sent(port);
    if (frames.size() != 1) return false;
    const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frames[0]));
    const auto arp = wire::parse_arp(view.payload);
    return arp && arp->is_request && arp->sender_ip == 0x0A4D00FE && arp->target_ip == 0x0A4D00FE &&
           arp->sender_mac == view.source && view.destination[0] == 0xFF;
  }

  RingSwitch sw{test_config(2)};
};

TEST_F(Announcing, TwiceOnEachPortWhenTheSwitchStarts) {
  turn_all();
  EXPECT_TRUE(announced(0));
  EXPECT_TRUE(announced(1));
  turn_all();
  EXPECT_TRUE(sw.sent(0).empty()) << "not before its time";
  sw.now = sw.now + Duration::seconds(2);
  turn_all();
  EXPECT_TRUE(announced(0));
  EXPECT_TRUE(announced(1));
  sw.now = sw.now + Duration::seconds(60);
  turn_all();
  EXPECT_TRUE(sw.sent(0).empty());
}

TEST_F(Announcing, DefendsTheAddressWhereAnotherHostClaimsIt) {
  turn_all();
  sw.now = sw.now + Duration::seconds(2);
  turn_all();
  sw.sent(0);
  sw.sent(1);
  std::array<std::byte, wire::kArpFrameBytes> claim{};
  wire::write_arp_request({2, 9, 9, 9, 9, 9}, 0x0A4D00FE, 0x0A4D00FE, claim);
  const auto claimed = [&] {
    sw.inject(0, claim);
    turn_all();
    const bool defended = announced(0);
    EXPECT_TRUE(sw.sent(1).empty()) << "nobody hears the claim";
    return defended;
  };
  EXPECT_TRUE(claimed());
  EXPECT_FALSE(claimed()) << "not again at once";
  sw.now = sw.now + Duration::seconds(10);
  EXPECT_TRUE(claimed());
  EXPECT_EQ(sw.drops(0, DropReason::own_address), 3u);
  EXPECT_EQ(sw.packet_loop().fdb().counters().entries.get(), 0u);
}

TEST_F(Announcing, AgainWhereALinkWasLost) {
  turn_all();
  sw.now = sw.now + Duration::seconds(2);
  turn_all();
  sw.sent(0);
  sw.sent(1);
  sw.port(0).lose_peer();
  turn_all();
  EXPECT_TRUE(sw.sent(0).empty()) << "it is down";
  sw.port(0).disconnect_peer();
  sw.port(0).poll_link();
  turn_all();
  EXPECT_TRUE(announced(0));
  EXPECT_TRUE(sw.sent(1).empty());
}

}  // namespace
}  // namespace tributary::dataplane
