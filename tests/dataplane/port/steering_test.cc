// Steering on devices without rules or hashes: the next best, and the device's own words.
#include "dataplane/port/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

using How = Steering::How;

config::SwitchConfig two_queues() {
  auto config = test_config(1);
  config.lcores = {-1, -1};
  config.ports[0].queues = 2;
  config::JobConfig job;
  job.id = 1;
  job.name = "job1";
  job.workers = 2;
  config.jobs = {job};
  return config;
}

TEST(SteeringOfAPort, Rule16_WithoutRulesOrHashLcoresHandOver) {
  const auto config = two_queues();
  RingSwitch sw(config);
  Steering& steering = sw.port(0).steering();
  EXPECT_EQ(steering.how(), How::hand_over);
  EXPECT_EQ(steering.note(), "") << "nobody asked";
  steering.apply(config::steering_plan(config, 0));
  EXPECT_EQ(steering.how(), How::hand_over);
  EXPECT_EQ(steering.rules(), 0u);
  EXPECT_THAT(steering.note(), testing::StartsWith("rte_flow refused: "));
  steering.apply({});
  EXPECT_EQ(steering.note(), "") << "the plan without wishes was refused nothing";
}

TEST(SteeringOfAPort, WithoutRulesADeviceSpreadsAsItCan) {
  const auto config = two_queues();
  RingSwitch sw(config);  // for its pool
  config::PortConfig null{"n", "net_null77", 1500};
  null.queues = 2;
  Port port(null);
  port.set_up(std::array{sw.pool(), sw.pool()});
  EXPECT_EQ(port.steering().how(), How::rss);
  port.steering().apply({.ipv4 = config.ipv4, .wishes = {{47000, 0}, {47001, 1}}});
  EXPECT_EQ(port.steering().how(), How::rss) << "it offers no hash of destination ports alone";
  EXPECT_EQ(port.steering().rules(), 0u);
  EXPECT_THAT(port.steering().note(), testing::StartsWith("rte_flow refused: "));
}

TEST(SteeringOfAPort, OneQueueNeedsNone) {
  auto config = two_queues();
  config.ports[0].queues = 1;
  RingSwitch sw(config);
  sw.port(0).steering().apply({.ipv4 = config.ipv4, .wishes = {{47000, 0}}});
  EXPECT_EQ(sw.port(0).steering().how(), How::none);
  EXPECT_EQ(sw.port(0).steering().note(), "");
}

}  // namespace
}  // namespace tributary::dataplane
