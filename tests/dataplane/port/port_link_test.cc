#include "dataplane/port/port_link.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

class PortLinkTest : public testing::Test {
 protected:
  PortLinkTest() { link.poll(true); }
  PortLink link;
};

TEST_F(PortLinkTest, GoesWithItsDeviceAndCountsHowOftenItWasLost) {
  EXPECT_TRUE(link.up());
  EXPECT_FALSE(link.poll(false));
  EXPECT_FALSE(link.poll(false));
  EXPECT_FALSE(link.up());
  EXPECT_EQ(link.losses(), 1u);
  EXPECT_TRUE(link.poll(true));
  EXPECT_EQ(link.losses(), 1u);
}

TEST_F(PortLinkTest, StaysDownUntilALostPeerIsForgotten) {
  link.lose_peer();
  link.lose_peer();
  EXPECT_FALSE(link.up());
  EXPECT_TRUE(link.lost_peer());
  EXPECT_FALSE(link.poll(true));
  EXPECT_EQ(link.losses(), 1u);
  link.forget_peer();
  EXPECT_TRUE(link.poll(true));
  EXPECT_EQ(link.losses(), 1u);
}

TEST_F(PortLinkTest, StaysDownWhileGuardedUntilTheDevicesLinkIsLost) {
  link.guard();
  EXPECT_FALSE(link.up());
  EXPECT_FALSE(link.poll(true));
  EXPECT_TRUE(link.is_guarded());
  EXPECT_FALSE(link.poll(false));
  EXPECT_FALSE(link.is_guarded());
  EXPECT_TRUE(link.poll(true));
  EXPECT_EQ(link.losses(), 1u);
}

TEST_F(PortLinkTest, AnInterruptionIsALossOfALinkThatIsUp) {
  link.interrupt();
  link.interrupt();
  EXPECT_EQ(link.losses(), 1u);
  EXPECT_TRUE(link.poll(true));
}

TEST_F(PortLinkTest, GoesOnCountingFromThePortBefore) {
  link.succeed(7);
  link.count_loss();
  EXPECT_EQ(link.losses(), 8u);
}

}  // namespace
}  // namespace tributary::dataplane
