// Steps of a change that loops come late to: turned by hand, and not at all while it is asked for.
#include "dataplane/loop/loop_steps.h"

#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "config/change/change.h"
#include "tests/dataplane/port_steps.h"

namespace tributary::dataplane {
namespace {

using testing::ElementsAre;

// Others' requests, as many as a loop that is silent keeps.
void fill(Mailbox& mailbox) {
  for (std::size_t i = 0; i < Mailbox::kCapacity; ++i) mailbox.post([](Instant) {});
  ASSERT_THROW(mailbox.post([](Instant) {}), std::runtime_error);
}

LoopSteps::Prepared prepare(RingSwitch& sw, const config::SwitchConfig& next) {
  const config::Change change = config::difference(sw.config(), next, {2048, 4096});
  LoopSteps::Prepared prepared;
  for (const auto& packet_loop : sw.packet_loops()) {
    prepared.push_back(packet_loop->prepare(next, change.forwarding));
    if (change.ports.queues_move)
      prepared.back()->plan = packet_loop->plan_ports(next, change.ports);
  }
  return prepared;
}

// Turns until nothing waits in the mailbox of a silent loop.
void wake_up(RingSwitch& sw, std::size_t lcore) {
  const std::size_t most = Mailbox::kCapacity + Mailbox::kAssured;
  for (std::size_t i = 0; i < most; i += Mailbox::kPerTurn) sw.turn(lcore);
}

std::vector<int> polled(RingSwitch& sw, std::size_t lcore) {
  std::vector<int> ports;
  for (const PolledQueue& queue : sw.packet_loop(lcore).queues()) ports.push_back(queue.port);
  return ports;
}

// Addresses that a loop knows when it has looked at all there is to forget.
std::size_t known(RingSwitch& sw, std::size_t lcore) {
  settle(sw);
  std::vector<FdbRow> rows;
  std::uint32_t place = 0;
  const Fdb& fdb = sw.packet_loop(lcore).fdb();
  fdb.learned_rows(place, fdb.capacity(), {}, sw.now, rows);
  return rows.size();
}

class LateLoopsTimed : public testing::Test {
 protected:
  static config::SwitchConfig start() {
    auto file = with_job(2);
    file.ports[0].lcores = {0};
    file.ports[1].lcores = {1};
    file.ports[2].lcores = {1};
    return file;
  }
  void check_while_loops_turn() {
    std::atomic<bool> over{false};
    std::thread loops([&] {
      while (!over.load()) sw.turn();
    });
    EXPECT_NO_THROW(steps.check(Duration::seconds(60)));
    over.store(true);
    loops.join();
  }

  config::SwitchConfig file = start();
  RingSwitch sw{file};
  LoopSteps steps{sw.packet_loops()};
};

// All of its steps are there when it wakes up, and what others wait for in them.
TEST_F(LateLoopsTimed, ALoopWithAFullMailboxComesToAChangeOfPortsWhenItWakesUp) {
  fill(sw.packet_loop(0).mailbox());
  auto next = file;
  next.ports[0].lcores = {1};
  next.ports[1].lcores = {0};
  const auto prepared = prepare(sw, next);
  EXPECT_FALSE(steps.take(prepared, mask_of(0) | mask_of(1), Duration()));
  wake_up(sw, 1);
  EXPECT_THAT(polled(sw, 1), ElementsAre(2)) << "what the silent one may poll still, nobody takes";
  EXPECT_THAT(polled(sw, 0), ElementsAre(0));
  wake_up(sw, 0);
  sw.turn();
  EXPECT_THAT(polled(sw, 0), ElementsAre(1));
  EXPECT_THAT(polled(sw, 1), ElementsAre(0, 2));
  for (const auto& packet_loop : sw.packet_loops()) EXPECT_TRUE(packet_loop->has_attached());
  sw.inject(0, l2_frame(kEverybody, host(1)));
  settle(sw);
  EXPECT_EQ(sw.sent(1).size(), 1u);
}

TEST_F(LateLoopsTimed, ALoopWithAFullMailboxComesToAChangeOfJobsWhenItWakesUp) {
  for (const auto& packet_loop : sw.packet_loops()) fill(packet_loop->mailbox());
  auto next = file;
  next.jobs[0].deadline = Duration::seconds(7);
  const auto prepared = prepare(sw, next);
  EXPECT_FALSE(steps.take(prepared, 0, Duration()));
  std::vector<Duration> deadlines;
  for (const std::size_t lcore : {0u, 1u}) {
    wake_up(sw, lcore);
    const aggregator::Engine& engine = sw.packet_loop(lcore).engine();
    for (std::size_t i = 0; i < engine.job_count(); ++i)
      deadlines.push_back(engine.job_config(i).deadline);
  }
  EXPECT_THAT(deadlines, ElementsAre(Duration::seconds(7)));
}

// What waits there of a change is bounded: the next one is refused before it begins.
TEST_F(LateLoopsTimed, TheNextChangeHasToWaitUntilAllAreThrough) {
  auto next = file;
  next.ports[0].lcores = {1};
  const auto prepared = prepare(sw, next);
  EXPECT_FALSE(steps.take(prepared, mask_of(0), Duration()));
  EXPECT_THROW(steps.check(Duration()), std::runtime_error) << "nobody answers";
  wake_up(sw, 0);
  EXPECT_FALSE(sw.packet_loop(0).has_attached()) << "the other one may still send there";
  check_while_loops_turn();
  EXPECT_THAT(polled(sw, 1), ElementsAre(0, 1, 2));
}

TEST_F(LateLoopsTimed, ALoopIsLateUntilItHasTakenAllStepsThatItHasBeenTold) {
  auto next = file;
  next.ports[0].lcores = {1};
  fill(sw.packet_loop(1).mailbox());
  const auto prepared = prepare(sw, next);
  EXPECT_FALSE(sw.packet_loops().any_late());
  EXPECT_FALSE(steps.take(prepared, mask_of(0), Duration()));
  EXPECT_TRUE(sw.packet_loop(0).is_late() && sw.packet_loop(1).is_late());
  wake_up(sw, 0);
  EXPECT_FALSE(sw.packet_loop(0).has_attached());
  EXPECT_FALSE(sw.packet_loop(0).is_late()) << "it waits for the other one, and has the new jobs";
  EXPECT_TRUE(sw.packet_loops().any_late());
  const auto jobs = sw.packet_loops().jobs(next);
  EXPECT_EQ(jobs.size(), sw.packet_loop(0).engine().job_count());
  for (const LoopJob& job : jobs) EXPECT_EQ(job.lcore, 0u);
  std::size_t turns = 0;
  for (; sw.packet_loop(1).is_late(); ++turns) sw.turn(1);
  EXPECT_GE(turns, (Mailbox::kCapacity + 3) / Mailbox::kPerTurn);
  EXPECT_FALSE(sw.packet_loops().any_late());
  EXPECT_EQ(sw.packet_loops().jobs(next).size(), 1u);
}

// Until it comes to the change it goes by the rules before, and tells the others so, who have
// forgotten them already.
TEST_F(LateLoopsTimed, WhatALateLoopHasToldIsForgottenWhenItIsThrough) {
  auto next = file;
  next.ports[0].vlan = {.mode = config::VlanMode::access, .id = 10, .allowed = {}, .native = {}};
  fill(sw.packet_loop(0).mailbox());
  const auto prepared = prepare(sw, next);
  EXPECT_FALSE(steps.take(prepared, mask_of(0), Duration()));
  wake_up(sw, 1);
  sw.inject(0, l2_frame(kEverybody, host(1)));
  sw.turn(0);
  ASSERT_TRUE(sw.packet_loop(0).is_late());
  sw.now = sw.now + Duration::us(1);
  wake_up(sw, 0);
  EXPECT_EQ(known(sw, 0), 0u);
  EXPECT_EQ(known(sw, 1), 1u);
  check_while_loops_turn();
  EXPECT_EQ(known(sw, 1), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
