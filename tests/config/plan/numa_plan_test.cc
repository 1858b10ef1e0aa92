// Placement of memory, on machines with two and four sockets that need not exist.
#include "config/plan/numa_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "config/plan/memory_plan.h"
#include "config/plan/port_places.h"

namespace tributary::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kBufferBytes = kLeastBufferData + kBufferOverheadBytes;

// Ports p0, p1..., which lcores take in turn.
SwitchConfig switch_of(std::size_t lcores, std::size_t ports) {
  SwitchConfig config;
  config.memory.hugepages = true;
  config.memory.megabytes = 1024;
  config.lcores.assign(lcores, -1);
  for (std::size_t i = 0; i < ports; ++i)
    config.ports.push_back({"p" + std::to_string(i), "0000:0" + std::to_string(i) + ":00.0", 1500});
  return config;
}

NumaPlan plan_of(const SwitchConfig& config, const Machine& machine) {
  return numa_plan(config, machine, kBufferBytes);
}

std::vector<int> sockets(const NumaPlan& plan) {
  std::vector<int> out;
  for (const PlannedPool& pool : plan.pools) out.push_back(pool.socket);
  return out;
}

std::size_t buffers(const NumaPlan& plan) {
  return std::accumulate(plan.pools.begin(), plan.pools.end(), std::size_t{0},
                         [](std::size_t sum, const PlannedPool& p) { return sum + p.buffers; });
}

// By queue, the socket from which it has its buffers.
std::vector<int> of_port(const NumaPlan& plan, std::size_t place) {
  std::vector<int> out;
  for (const std::size_t pool : plan.of_queue[place]) out.push_back(plan.pools[pool].socket);
  return out;
}

std::vector<int> of_lcores(const NumaPlan& plan) {
  std::vector<int> out;
  for (const std::size_t pool : plan.of_lcore) out.push_back(plan.pools[pool].socket);
  return out;
}

TEST(NumaPlan, OnePoolIsWhatItHasAlwaysBeen) {
  SwitchConfig config = switch_of(2, 3);
  config.memory.spare_queues = 2;
  config.fragments.datagrams = 64;
  for (const Machine& machine : {Machine{}, Machine{{0, 0}, {0, 0, 0}}, Machine{{1, 1}, {-1, 1}}}) {
    const NumaPlan plan = plan_of(config, machine);
    ASSERT_EQ(plan.pools.size(), 1u);
    EXPECT_EQ(plan.pools[0].socket, lcore_socket(machine, 0));
    EXPECT_EQ(plan.pools[0].least, least_buffers(config));
    EXPECT_EQ(plan.pools[0].buffers, 5 * (2048 + 64) + lcore_buffers(config));
    EXPECT_THAT(pool_needs(config, plan), ElementsAre(buffers_in_need(config)));
    EXPECT_THAT(plan.notes, IsEmpty());
  }
}

TEST(NumaPlan, AQueueHasItsPortsSocketAndAnLcoreItsOwn) {
  SwitchConfig config = switch_of(4, 4);
  config.ports[0].queues = 4;
  config.ports[0].lcores = {0, 1, 2, 3};
  config.ports[1].lcores = {0};
  config.ports[2].lcores = {3};
  config.ports[3].lcores = {2};  // software: its socket is not known
  const NumaPlan plan = plan_of(config, {{0, 0, 1, 1}, {0, 1, 1, kAnySocket}});
  EXPECT_THAT(sockets(plan), ElementsAre(0, 1));
  EXPECT_THAT(of_lcores(plan), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(of_port(plan, 0), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(of_port(plan, 1), ElementsAre(1));
  EXPECT_THAT(of_port(plan, 2), ElementsAre(1));
  EXPECT_THAT(of_port(plan, 3), ElementsAre(1)) << "its lcore's";
}

TEST(NumaPlan, FourSocketsOfWhichThreeAreInUse) {
  const NumaPlan plan = plan_of(switch_of(2, 3), {{2, 0}, {3, 0, 2}});
  EXPECT_THAT(sockets(plan), ElementsAre(0, 2, 3));
  EXPECT_THAT(of_port(plan, 0), ElementsAre(3)) << "where no lcore is";
  EXPECT_THAT(of_lcores(plan), ElementsAre(2, 0));
}

TEST(NumaPlan, WhoIsNowhereTakesTheFirst) {
  const NumaPlan plan = plan_of(switch_of(2, 2), {{kAnySocket, kAnySocket}, {1, kAnySocket}});
  EXPECT_THAT(sockets(plan), ElementsAre(1));
  EXPECT_THAT(of_lcores(plan), ElementsAre(1, 1));
  EXPECT_THAT(of_port(plan, 1), ElementsAre(1));
}

// Each lcore may cache buffers of any pool; a transmit queue may be full of another's; the ways to
// other lcores hold what a lcore has received or made, of jobs and of others.
TEST(NumaPlan, APoolHasWhatAllMayHoldOfIt) {
  SwitchConfig config = switch_of(2, 4);
  config.fragments.datagrams = 10;
  const NumaPlan apart = plan_of(config, {{0, 1}, {0, 1, 0, 1}});
  const std::size_t need = 2 * 512 + 2 * (512 + 10) + 2 * 256 + 1 * 2 * 256;
  EXPECT_THAT(pool_needs(config, apart), ElementsAre(need, need));
  EXPECT_EQ(apart.pools[0].buffers, need + 2 * (2048 - 512));
  // Ports of socket 1 that the lcore of socket 0 polls: its rings carry their frames, too, and what
  // it puts together of theirs is its own.
  const NumaPlan far = plan_of(config, {{0, 1}, {1, 1, 1, 1}});
  EXPECT_THAT(pool_needs(config, far), ElementsAre(2 * 512 + 4 * 256 + 2 * 10 + 2 * 256,
                                                   2 * 512 + 4 * 512 + 2 * 10 + 2 * 2 * 256));
}

TEST(NumaPlan, PortsThatComeMayBeOnAnySocket) {
  SwitchConfig config = switch_of(2, 2);
  const NumaPlan without = plan_of(config, {{0, 1}, {0, 1}});
  config.memory.spare_queues = 3;
  const NumaPlan with = plan_of(config, {{0, 1}, {0, 1}});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(with.pools[i].least, without.pools[i].least + 3 * 512);
    EXPECT_EQ(with.pools[i].buffers, without.pools[i].buffers + 3 * 2048);
  }
}

TEST(NumaPlan, MemoryIsDividedByNeedAndNeverExceeded) {
  SwitchConfig config = switch_of(2, 8);
  const Machine machine{{0, 1}, {0, 0, 0, 0, 0, 0, 1, 1}};
  for (std::uint32_t megabytes = 40; megabytes < 120; ++megabytes) {
    config.memory.megabytes = megabytes;
    const NumaPlan plan = plan_of(config, machine);
    EXPECT_LE(buffers(plan) * kBufferBytes + plan.pools.size() * kRuntimeBytes,
              std::size_t{megabytes} << 20);
    for (const PlannedPool& pool : plan.pools) {
      EXPECT_GE(pool.buffers, pool.least);
      EXPECT_LE(pool.buffers, pool.wanted);
    }
    if (plan.pools.size() == 2) {
      EXPECT_GT(plan.pools[0].buffers, plan.pools[1].buffers);
    }
  }
}

TEST(NumaPlan, TooLittleForSeveralIsOnePoolWhereMostQueuesAre) {
  SwitchConfig config = switch_of(2, 4);
  config.memory.megabytes = 34;
  const NumaPlan plan = plan_of(config, {{0, 1}, {1, 1, 0, 1}});
  EXPECT_THAT(sockets(plan), ElementsAre(1));
  EXPECT_THAT(of_lcores(plan), ElementsAre(1, 1));
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_THAT(plan.notes[0], AllOf(HasSubstr("sockets 0 and 1"), HasSubstr("got 34"),
                                   HasSubstr("there is one, on socket 1")));
  config.memory.megabytes = 18;
  EXPECT_THROW(plan_of(config, {{0, 1}, {1, 1, 0, 1}}), std::runtime_error);
}

TEST(NumaPlan, WithoutHugepagesMemoryIsOfNoSocket) {
  SwitchConfig config = switch_of(2, 2);
  config.memory.hugepages = false;
  const NumaPlan plan = plan_of(config, {{0, 1}, {0, 1}});
  EXPECT_THAT(sockets(plan), ElementsAre(kAnySocket));
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_THAT(plan.notes[0], HasSubstr("switch.memory.hugepages is false"));
  EXPECT_THAT(plan_of(config, {{1, 1}, {1, 1}}).notes, IsEmpty());
}

TEST(NumaPlan, OthersStandInForASocketWithoutMemory) {
  const SwitchConfig config = switch_of(2, 2);
  Machine machine{{0, 1}, {0, 1}, {1}};
  const NumaPlan plan = plan_of(config, machine);
  EXPECT_THAT(sockets(plan), ElementsAre(0));
  EXPECT_THAT(of_port(plan, 1), ElementsAre(0));
  machine.lacking = {1, 0};
  EXPECT_THAT(sockets(plan_of(config, machine)), ElementsAre(kAnySocket));
}

TEST(NumaPlan, AQueueThatIsPolledFromAfarIsNamed) {
  SwitchConfig config = switch_of(2, 2);
  config.ports[1].lcores = {0};
  const Machine machine{{0, 1}, {0, 1}};
  const auto far = far_queues(config, machine);
  ASSERT_EQ(far.size(), 1u);
  EXPECT_EQ(far[0], (FarQueue{1, 0, 0, 1, 0}));
  EXPECT_THAT(describe(far[0], config),
              AllOf(HasSubstr("port p1 is on socket 1"), HasSubstr("lcore 0"),
                    HasSubstr("queue 0, on socket 0"), HasSubstr("ports[].lcores")));
  EXPECT_THAT(far_queues(config, {{0, kAnySocket}, {kAnySocket, 0}}), IsEmpty());
}

TEST(NumaPlan, TheFootprintIsPrinted) {
  const NumaPlan plan = plan_of(switch_of(2, 2), {{0, 1}, {0, 1}});
  EXPECT_THAT(describe_pools(plan, 1024),
              testing::MatchesRegex("packet buffers on socket 0: [0-9]+, [0-9.]+ MiB\n"
                                    "packet buffers on socket 1: [0-9]+, [0-9.]+ MiB\n"));
}

class NumaChange : public testing::Test {
 protected:
  NumaChange() {
    file.memory.spare_queues = 2;
    running = seated(file, file, seat_ports(file, file));
    plan = plan_of(running, machine);
  }
  // The file is read anew.
  NumaPlan change() {
    const Seating seating = seat_ports(running, file);
    next = seated(running, file, seating);
    return numa_change(plan, next, machine, seating.added);
  }

  SwitchConfig file = switch_of(2, 2);
  Machine machine{{0, 1}, {0, 1}};
  SwitchConfig running;
  SwitchConfig next;
  NumaPlan plan;
};

TEST_F(NumaChange, APortThatComesHasItsSocketsPool) {
  for (const int socket : {1, 0, kAnySocket}) {
    auto with = file;
    with.ports.push_back({"new", "0000:09:00.0", 1500});
    with.ports.back().lcores = {1};
    std::swap(with, file);
    machine.ports = {0, 1, socket};
    const NumaPlan after = change();
    EXPECT_THAT(of_port(after, 2), ElementsAre(socket == 0 ? 0 : 1));
    EXPECT_THAT(of_port(after, 0), ElementsAre(0));
    EXPECT_THAT(after.notes, IsEmpty());
    EXPECT_EQ(after.pools[0].buffers, plan.pools[0].buffers);
    std::swap(with, file);
  }
}

TEST_F(NumaChange, APortOfASocketWithoutAPoolHasItsLcores) {
  file.ports.push_back({"new", "0000:09:00.0", 1500});
  file.ports.back().lcores = {1};
  machine.ports = {0, 1, 3};
  EXPECT_THAT(of_port(change(), 2), ElementsAre(1));
  EXPECT_EQ(far_queues(next, machine).size(), 1u);
}

TEST_F(NumaChange, APoolWithoutSpareBuffersSendsPortsToAnother) {
  plan.pools[1].buffers = pool_needs(running, plan)[1] + 3 * 512 - 1;
  file.ports.push_back({"new", "0000:09:00.0", 1500});
  file.ports.back().queues = 3;
  file.ports.back().lcores = {1, 1, 1};
  machine.ports = {0, 1, 1};
  const NumaPlan after = change();
  EXPECT_THAT(of_port(after, 2), ElementsAre(0, 0, 0));
  ASSERT_EQ(after.notes.size(), 1u);
  EXPECT_THAT(after.notes[0],
              AllOf(HasSubstr("port new"), HasSubstr("socket 1 has no"), HasSubstr("on socket 0")));
  const auto needs = pool_needs(next, after);
  for (std::size_t i = 0; i < needs.size(); ++i) EXPECT_LE(needs[i], after.pools[i].buffers);
}

TEST_F(NumaChange, WhatFitsNowhereIsRefusedBySocket) {
  for (PlannedPool& pool : plan.pools) pool.buffers = 3000;
  file.ports.push_back({"new", "0000:09:00.0", 1500});
  file.ports.back().queues = 8;
  try {
    change();
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the pool on socket 0 needs"), HasSubstr("3000"),
                                    HasSubstr("spare_queues")));
  }
}

TEST_F(NumaChange, APortThatGoesNeedsNothing) {
  file.ports.erase(file.ports.begin());
  machine.ports = {kAnySocket, 1};
  const NumaPlan after = change();
  EXPECT_THAT(of_port(after, 0), IsEmpty());
  EXPECT_THAT(of_port(after, 1), ElementsAre(1));
  EXPECT_LT(pool_needs(next, after)[0], pool_needs(running, plan)[0]);
}

// A queue keeps its buffers: its device was told.
TEST_F(NumaChange, AQueueThatMovesKeepsItsPool) {
  file.ports[0].lcores = {1};
  const NumaPlan after = change();
  EXPECT_THAT(of_port(after, 0), ElementsAre(0));
  EXPECT_EQ(far_queues(next, machine).size(), 1u);
}

}  // namespace
}  // namespace tributary::config
