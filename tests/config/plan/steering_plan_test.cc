// Which queue packets to a UDP port had best come to.
#include "config/plan/steering_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two lcores; port 0 has a queue of each, port 1 a single one.
SwitchConfig with_jobs(
    std::initializer_list<std::pair<std::uint32_t, std::uint8_t>> id_and_shards) {
  SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  config.lcores = {-1, -1};
  config.ports.resize(2);
  config.ports[0].name = "a";
  config.ports[0].queues = 2;
  config.ports[0].lcores = {1, 0};
  config.ports[1].name = "b";
  for (const auto& [id, shards] : id_and_shards) {
    JobConfig& job = config.jobs.emplace_back();
    job.id = id;
    job.workers = 2;
    job.shards = shards;
  }
  return config;
}
std::vector<SteeringWish> wishes(const SwitchConfig& config, std::size_t port = 0) {
  return steering_plan(config, port).wishes;
}

TEST(SteeringPlan, Rule16_APortGoesToTheQueueOfTheLcoreThatWorksForIt) {
  const auto config = with_jobs({{1, 3}});
  EXPECT_THAT(wishes(config),
              ElementsAre(SteeringWish{47000, 0}, SteeringWish{47001, 0}, SteeringWish{47002, 0}));
  EXPECT_EQ(steering_plan(config, 0).ipv4, 0x0A4D00FEu);
  EXPECT_THAT(wishes(with_jobs({{2, 1}})), ElementsAre(SteeringWish{47000, 1}));
}

TEST(SteeringPlan, ANumberThatJobsOfSeveralLcoresUseIsLeftAlone) {
  EXPECT_THAT(wishes(with_jobs({{1, 1}, {2, 3}})),
              ElementsAre(SteeringWish{47001, 1}, SteeringWish{47002, 1}));
  EXPECT_THAT(wishes(with_jobs({{1, 2}, {2, 2}})), IsEmpty());
}

TEST(SteeringPlan, OnlyJobsThatMayComeThroughThePortCount) {
  auto config = with_jobs({{1, 1}, {2, 1}});
  config.jobs[1].members = {{0, "b"}, {1, "b"}};
  EXPECT_THAT(wishes(config), ElementsAre(SteeringWish{47000, 0}));
  config.jobs[1].members[1].port = "a";
  EXPECT_THAT(wishes(config), IsEmpty());
  config.jobs[1].members[1].port = "b";
  config.completion.hosts = {{.name = "ps", .ipv4 = 1, .port = "a"}};
  EXPECT_THAT(wishes(config), ElementsAre(SteeringWish{47000, 0}));
  config.jobs[1].completion_hosts = {"ps"};
  EXPECT_THAT(wishes(config), IsEmpty());
  config.jobs[1].completion_hosts.clear();
  config.jobs[1].parent = ParentConfig{};
  config.jobs[1].parent->uplink = "a";
  EXPECT_THAT(wishes(config), IsEmpty());
}

TEST(SteeringPlan, APortOfOneQueueIsAskedForNothing) {
  EXPECT_THAT(wishes(with_jobs({{1, 1}}), 1), IsEmpty());
  auto config = with_jobs({{1, 1}});
  config.ports[0].queues = 1;
  config.ports[0].lcores = {1};
  EXPECT_THAT(wishes(config), IsEmpty());
}

TEST(SteeringPlan, AnLcoreWithoutAQueueThereGetsThemHandedOver) {
  auto config = with_jobs({{1, 1}});
  config.ports[0].lcores = {0, 0};
  EXPECT_THAT(wishes(config), IsEmpty());
}

TEST(SteeringPlan, SeveralQueuesOfAnLcoreShareItsPorts) {
  auto config = with_jobs({{1, 4}});
  config.ports[0].queues = 3;
  config.ports[0].lcores = {1, 0, 1};
  std::vector<std::uint16_t> queues;
  for (const SteeringWish& wish : wishes(config)) queues.push_back(wish.queue);
  EXPECT_THAT(queues, ElementsAre(0, 2, 0, 2));
}

// A2: each plane of a job has UDP ports of its own.
TEST(SteeringPlan, PlanesGoToTheirLcores) {
  auto config = with_jobs({{1, 2}});
  config.jobs[0].planes = 2;
  config.jobs[0].lcores = {1, 0};
  EXPECT_THAT(wishes(config), ElementsAre(SteeringWish{47000, 0}, SteeringWish{47001, 0},
                                          SteeringWish{47002, 1}, SteeringWish{47003, 1}));
}

TEST(SteeringPlan, HostedEnginesHaveAPortOfTheirOwn) {
  auto config = with_jobs({{1, 1}});
  config.jobs[0].hosting = HostingConfig{};
  EXPECT_THAT(wishes(config), ElementsAre(SteeringWish{47000, 0}, SteeringWish{47016, 0}));
}

}  // namespace
}  // namespace tributary::config
