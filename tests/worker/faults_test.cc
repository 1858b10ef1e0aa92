// Nodes that fail, on the simulated network: all others hear which node it was, the switch forgets
// all it held, and the next epoch gets its own sums (rule 1; O6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/worker/simulated_cluster.h"

namespace tributary::worker {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 42;  // the network is perfect: only delays are drawn

struct Call {
  explicit Call(std::size_t count, std::int32_t value) : data(count, value) {
    op.data = reinterpret_cast<std::byte*>(data.data());
    op.count = count;
    op.dtype = wire::DType::int32;
  }
  std::vector<std::int32_t> data;
  Op op;
};

config::JobConfig job(Duration lease, Duration deadline) {
  config::JobConfig j = small_job(3, 4);
  j.lease = lease;
  j.deadline = deadline;
  j.on_deadline = config::OnDeadline::abort;
  return j;
}

void expect_nothing_held(const SimulatedCluster& cluster) {
  EXPECT_EQ(cluster.counters().slots_open.get(), 0u);
  EXPECT_EQ(cluster.counters().results_retained.get(), 0u);
}

// All ranks of a fresh epoch add up 1 + 1 + 1.
void expect_next_epoch_works(SimulatedCluster& cluster) {
  for (std::uint32_t r = 0; r < 3; ++r) {
    cluster.session(r).leave(cluster.now());
    cluster.create(r);
  }
  ASSERT_TRUE(cluster.start_all());
  std::vector<Call> calls(3, Call(100, 1));
  for (std::uint32_t r = 0; r < 3; ++r) {
    calls[r].op.data = reinterpret_cast<std::byte*>(calls[r].data.data());
    cluster.session(r).submit(calls[r].op, cluster.now());
  }
  ASSERT_TRUE(cluster.run_until(
      [&] {
        return cluster.session(0).idle() && cluster.session(1).idle() && cluster.session(2).idle();
      },
      Duration::seconds(5)));
  for (const Call& c : calls) EXPECT_THAT(c.data, Each(3));
}

// A worker killed mid-op is named when its lease lapses, or at the deadline if that is earlier.
void expect_dead_rank_named(Duration lease, Duration deadline, const std::string& text,
                            wire::Reason reason) {
  SimulatedCluster cluster(kSeed, job(lease, deadline), {});
  ASSERT_TRUE(cluster.start_all());
  Call a(100, 1), b(100, 1), c(100, 1);
  cluster.session(0).submit(a.op, cluster.now());
  cluster.session(1).submit(b.op, cluster.now());
  cluster.session(2).submit(c.op, cluster.now());
  cluster.run_for(Duration::us(30));
  cluster.set_dead(2, true);
  ASSERT_TRUE(cluster.run_until([&] { return a.op.failure && b.op.failure; },
                                std::min(lease, deadline) + Duration::ms(100)));
  EXPECT_THAT(a.op.failure->text, HasSubstr(text));
  EXPECT_EQ(b.op.failure->reason, reason);
  EXPECT_THAT(b.op.failure->ranks, ElementsAre(2u));
  expect_nothing_held(cluster);
  expect_next_epoch_works(cluster);
}

TEST(Faults, DeadRankIsNamedWhenItsLeaseLapses) {
  expect_dead_rank_named(Duration::seconds(2), Duration::seconds(30),
                         "rank 2 fell silent and the lease expired", wire::Reason::lease_expired);
}

TEST(Faults, DeadRankIsNamedAtTheDeadline) {
  expect_dead_rank_named(Duration::seconds(30), Duration::seconds(1),
                         "the switch's deadline passed without rank 2", wire::Reason::deadline);
}

// Ranks 0 and 1 are in an op; rank 2 is not. False: not all have joined.
bool lacks_rank_2(SimulatedCluster& cluster, Call& a, Call& b) {
  if (!cluster.start_all()) return false;
  cluster.session(0).submit(a.op, cluster.now());
  cluster.session(1).submit(b.op, cluster.now());
  cluster.run_for(Duration::ms(5));
  return true;
}

TEST(Faults, RestartedRankEndsTheEpochAndTheNextOneForms) {
  SimulatedCluster cluster(kSeed, job(Duration::seconds(10), Duration::seconds(30)), {});
  Call a(10, 1), b(10, 1);
  ASSERT_TRUE(lacks_rank_2(cluster, a, b));
  cluster.create(2);
  ASSERT_TRUE(
      cluster.run_until([&] { return a.op.failure && b.op.failure; }, Duration::seconds(1)));
  EXPECT_THAT(a.op.failure->text, HasSubstr("rank 2 restarted and joined anew"));
  EXPECT_THAT(b.op.failure->ranks, ElementsAre(2u));
  expect_nothing_held(cluster);
  expect_next_epoch_works(cluster);
}

// A job whose ranks compute: no op is open.
class SecondProcess : public ::testing::Test {
 protected:
  void begin(std::uint64_t seed, const NetworkModel& model = {}) {
    cluster_.emplace(seed, job(Duration::seconds(3), Duration::seconds(1)), model);
    ASSERT_TRUE(cluster_->start_all());
    second_ = cluster_->create_second(0);
  }
  Session& second() { return cluster_->session(second_); }
  bool is_second_in() { return second().state() == SessionState::running; }

  std::optional<SimulatedCluster> cluster_;
  std::uint32_t second_ = 0;
};

// Each lost packet is a question or an answer that does not come.
TEST_F(SecondProcess, Rule1_NeverEndsAnEpochThatIsAlive) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    NetworkModel model;
    model.loss_ppm = 20'000;
    begin(seed, model);
    cluster_->run_for(Duration::seconds(61));
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      ASSERT_EQ(cluster_->session(rank).state(), SessionState::running) << "seed " << seed;
    ASSERT_EQ(second().state(), SessionState::failed);
    EXPECT_THAT(
        second().failure()->text,
        HasSubstr(
            "within the timeout of 60 s: rank 0 is already here, from 10.77.0.1 UDP port 40000"));
  }
}

TEST_F(SecondProcess, Rule1_IsInWhenTheFirstOneHasLeft) {
  begin(kSeed);
  cluster_->run_for(Duration::seconds(20));
  EXPECT_EQ(second().taken_by(), "rank 0 is already here, from 10.77.0.1 UDP port 40000");
  for (std::uint32_t rank = 0; rank < 3; ++rank) cluster_->session(rank).leave(cluster_->now());
  for (std::uint32_t rank = 1; rank < 3; ++rank) cluster_->create(rank);
  EXPECT_TRUE(cluster_->run_until([&] { return is_second_in(); }, Duration::ms(210)));
}

TEST_F(SecondProcess, Rule1_IsInWhenTheFirstOneHasDied) {
  begin(kSeed);
  cluster_->run_for(Duration::seconds(20));
  cluster_->set_dead(0, true);
  const auto ended = [&] { return cluster_->session(1).state() == SessionState::failed; };
  EXPECT_TRUE(cluster_->run_until(ended, Duration::ms(620)));
  EXPECT_THAT(cluster_->session(1).failure()->text, HasSubstr("rank 0 restarted and joined anew"));
  for (std::uint32_t rank = 1; rank < 3; ++rank) cluster_->create(rank);
  EXPECT_TRUE(cluster_->run_until([&] { return is_second_in(); }, Duration::ms(110)));
}

TEST(Faults, RestartedSwitchIsNoticedByEveryRank) {
  SimulatedCluster cluster(kSeed, job(Duration::seconds(10), Duration::seconds(30)), {});
  Call a(10, 1), b(10, 1);
  ASSERT_TRUE(lacks_rank_2(cluster, a, b));
  cluster.restart_switch(1000);
  ASSERT_TRUE(
      cluster.run_until([&] { return a.op.failure && b.op.failure; }, Duration::seconds(2)));
  EXPECT_THAT(a.op.failure->text, HasSubstr("the switch refused rank 0 of 3"));
  expect_next_epoch_works(cluster);
}

// Rule 6: a receiver that stops in the middle holds up who sends more than two windows ahead of it;
// that one asks seldom, and what it sends is not dropped again and again.
TEST(Faults, AReceiverThatStopsCausesNoStormOfResends) {
  config::JobConfig j = job(Duration::seconds(60), Duration::seconds(60));
  j.shards = 2;
  SimulatedCluster cluster(kSeed, j, {});
  ASSERT_TRUE(cluster.start_all());
  constexpr std::size_t kChunks = 200;
  std::vector<Call> calls(3, Call(kChunks * 16, 0));
  for (std::uint32_t r = 0; r < 3; ++r) {
    calls[r].op.data = reinterpret_cast<std::byte*>(calls[r].data.data());
    calls[r].op.collective = wire::Collective::broadcast;
    cluster.session(r).submit(calls[r].op, cluster.now());
  }
  std::fill(calls[0].data.begin(), calls[0].data.end(), 7);
  ASSERT_TRUE(cluster.run_until([&] { return cluster.session(2).counters().results.get() >= 40; },
                                Duration::seconds(1)));
  cluster.set_dead(2, true);
  cluster.run_for(Duration::seconds(5));
  EXPECT_LE(cluster.sent(wire::PacketType::probe), 350u);
  EXPECT_LE(cluster.sent(wire::PacketType::contribution), kChunks + 50);
  cluster.set_dead(2, false);
  ASSERT_TRUE(cluster.run_until(
      [&] {
        return cluster.session(0).idle() && cluster.session(1).idle() && cluster.session(2).idle();
      },
      Duration::seconds(10)));
  for (const Call& c : calls) EXPECT_THAT(c.data, Each(7));
}

// Rule 6: while one straggler sleeps, the others ask, seldom, and resend nothing.
TEST(Faults, StragglerCausesNoResends) {
  SimulatedCluster cluster(kSeed, job(Duration::seconds(10), Duration::seconds(30)), {});
  ASSERT_TRUE(cluster.start_all());
  std::vector<Call> calls(3, Call(60, 1));  // 4 chunks: one window
  for (std::uint32_t r = 0; r < 3; ++r)
    calls[r].op.data = reinterpret_cast<std::byte*>(calls[r].data.data());
  cluster.session(0).submit(calls[0].op, cluster.now());
  cluster.session(1).submit(calls[1].op, cluster.now());
  cluster.run_for(Duration::seconds(3));
  cluster.session(2).submit(calls[2].op, cluster.now());
  ASSERT_TRUE(
      cluster.run_until([&] { return cluster.session(0).idle() && cluster.session(1).idle(); },
                        Duration::seconds(2)));
  EXPECT_EQ(cluster.sent(wire::PacketType::contribution), 12u);
  // Two ranks, four chunks, a timer that doubles from 20 ms to 1 s over 3 s.
  EXPECT_LE(cluster.sent(wire::PacketType::probe), 2u * 4 * 9);
  EXPECT_THAT(calls[1].data, Each(3));
}

}  // namespace
}  // namespace tributary::worker
