// Counts of a simulated switch's ports.
#include "sim/node/switch_ports.h"

#include <gtest/gtest.h>

#include "core/net/frame.h"

namespace tributary::sim {
namespace {

class SwitchPortsTest : public ::testing::Test {
 protected:
  SwitchPortsTest() {
    std::vector<config::PortConfig> ports(2);
    ports[0].mtu = 1500;
    ports[1].mtu = 9000;
    ports_.emplace(ports);
  }
  FrameRef frame(std::size_t ip_bytes) {
    FrameRef ref = frames_.take();
    ref.writable().bytes.resize(ip_bytes + wire::kEthernetBytes + wire::kVlanBytes);
    return ref;
  }
  [[nodiscard]] std::uint64_t dropped(DropReason reason) const {
    return ports_->drops().get(reason);
  }

  FramePool frames_;
  std::optional<SwitchPorts> ports_;
};

TEST_F(SwitchPortsTest, AFrameThatIsTooLongForItsPortIsNotSent) {
  EXPECT_TRUE(ports_->fits(0, frame(1500)));
  EXPECT_FALSE(ports_->fits(0, frame(1501)));
  EXPECT_TRUE(ports_->fits(1, frame(1501)));
  EXPECT_EQ(dropped(DropReason::mtu), 1u);
  EXPECT_EQ(ports_->tallies()[0].to_send, 2u);
  EXPECT_EQ(ports_->tallies()[0].send_dropped, 1u);
}

TEST_F(SwitchPortsTest, ACopyIsSentOrDroppedForTheCablesReason) {
  for (const SendResult result :
       {SendResult::sent, SendResult::queue_full, SendResult::link_down, SendResult::sent}) {
    ASSERT_TRUE(ports_->fits(1, frame(100)));
    ports_->count_sent(1, result);
  }
  const PortTally& tally = ports_->tallies()[1];
  EXPECT_EQ(tally.sent, 2u);
  EXPECT_EQ(tally.send_dropped, 2u);
  EXPECT_EQ(tally.to_send, 4u);
  EXPECT_EQ(dropped(DropReason::tx_full), 1u);
  EXPECT_EQ(dropped(DropReason::tx_link_down), 1u);
}

TEST_F(SwitchPortsTest, AnAnswerThatIsNotSentIsOfNoPort) {
  ports_->drop(0, DropReason::own_address);
  ports_->drop_answer(DropReason::reply_limit);
  EXPECT_EQ(ports_->tallies()[0].dropped, 1u);
  EXPECT_EQ(dropped(DropReason::own_address), 1u);
  EXPECT_EQ(dropped(DropReason::reply_limit), 1u);
}

}  // namespace
}  // namespace tributary::sim
