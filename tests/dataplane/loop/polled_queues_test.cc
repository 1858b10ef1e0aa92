#include "dataplane/loop/polled_queues.h"

#include <gmock/gmock.h>

#include <utility>

#include "tests/dataplane/port_steps.h"

namespace tributary::dataplane {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using PortQueue = std::pair<int, int>;

std::vector<PortQueue> names(std::span<const PolledQueue> queues) {
  std::vector<PortQueue> all;
  for (const PolledQueue& q : queues) all.emplace_back(q.port, q.queue);
  return all;
}

// A configuration of two lcores and that many ports, port 0 with two queues.
config::SwitchConfig config_of(std::size_t ports) {
  auto config = with_lcores(2, ports);
  config.ports[0].queues = 2;
  return config;
}

TEST(PolledQueues, EachLoopPollsItsOwn) {
  const auto config = config_of(2);
  PolledQueues first(config, 0);
  PolledQueues second(config, 1);
  EXPECT_EQ(first.all().size() + second.all().size(), 3u);
  for (const PortQueue& one : names(first.shown()))
    EXPECT_THAT(names(second.shown()), ::testing::Not(::testing::Contains(one)));
}

TEST(PolledQueues, TheFirstQueueOfAPortSpeaksForTheSwitch) {
  const auto config = config_of(1);
  const PolledQueues first(config, 0);
  const PolledQueues second(config, 1);
  EXPECT_EQ(first.first_ports().size() + second.first_ports().size(), 1u);
}

TEST(PolledQueues, WhatIsGivenUpIsPolledByNoLoopUntilItIsAttached) {
  auto before = with_lcores(1, 2);
  auto after = before;
  after.ports.pop_back();
  PolledQueues queues(before, 0);
  auto plan = queues.plan(after, std::array<std::uint16_t, 1>{1});
  queues.release(plan, std::array<std::uint16_t, 1>{1});
  EXPECT_THAT(names(queues.shown()), ElementsAre(PortQueue(0, 0)));
  queues.attach(plan);
  EXPECT_THAT(names(queues.shown()), ElementsAre(PortQueue(0, 0)));
}

// A queue that moves to another loop and comes back has not lost what it counted.
TEST(PolledQueues, AQueueThatComesBackCountsOn) {
  const auto with = with_lcores(1, 1);
  auto without = with;
  without.lcores = {-1, -1};
  without.ports[0].lcores = {1};
  PolledQueues queues(with, 0);
  queues.all()[0].packets.add(7);
  auto away = queues.plan(without, {});
  queues.release(away, {});
  EXPECT_THAT(names(queues.shown()), IsEmpty());
  queues.attach(away);
  auto back = queues.plan(with, {});
  queues.release(back, {});
  queues.attach(back);
  ASSERT_EQ(queues.all().size(), 1u);
  EXPECT_EQ(queues.all()[0].packets.get(), 7u);
}

// Its place may be another port's by then.
TEST(PolledQueues, APortThatWasRemovedStartsFromZero) {
  const auto with = with_lcores(1, 2);
  auto without = with;
  without.ports.pop_back();
  const std::array<std::uint16_t, 1> gone{1};
  PolledQueues queues(with, 0);
  queues.all()[1].packets.add(7);
  auto away = queues.plan(without, gone);
  queues.release(away, gone);
  queues.attach(away);
  auto back = queues.plan(with, {});
  queues.release(back, {});
  queues.attach(back);
  ASSERT_EQ(queues.all().size(), 2u);
  EXPECT_EQ(queues.all()[1].packets.get(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
