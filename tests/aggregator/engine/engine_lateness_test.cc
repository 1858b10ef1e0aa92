// How far children lag behind, for `show stragglers` and for the exclusion of children (T12, T13).
#include <gmock/gmock.h>

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LatenessTest : public EngineTest {
 protected:
  void build_with(void (*change)(config::JobConfig&)) {
    config::JobConfig job = test_job();
    change(job);
    build(test_switch({job}));
    join_all();
  }
  // One chunk, the whole of op `seq`, so long after the last.
  void give(std::uint32_t rank, std::uint32_t seq, Duration later) {
    now_ = now_ + later;
    contribute(rank, seq, {1});
  }
  [[nodiscard]] std::uint64_t missed(std::uint32_t child) const {
    return engine_->child_totals(0, child).missed_deadlines.get();
  }
  [[nodiscard]] std::vector<OpLateness> lateness() const { return engine_->lateness(kJob, now_); }
};

TEST_F(LatenessTest, CountsFromTheFirstArrivalOfTheChunk) {
  build_with([](config::JobConfig&) {});
  give(1, 0, Duration::ms(5));
  give(0, 0, Duration::ms(2));
  give(2, 0, Duration::ms(3));
  const auto ops = lateness();
  ASSERT_THAT(ops, SizeIs(1));
  EXPECT_TRUE(ops[0].complete);
  EXPECT_THAT(ops[0].behind, ElementsAre(Duration::ms(2), Duration(), Duration::ms(5)));
  EXPECT_THAT(engine_->lateness(99, now_), IsEmpty());
}

TEST_F(LatenessTest, WhoeverHasNotComeIsLateByWhatIsWaitedForIt) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  give(0, 0, Duration::ms(1));
  give(1, 0, Duration::ms(1));
  now_ = now_ + Duration::ms(30);
  auto ops = lateness();
  ASSERT_THAT(ops, SizeIs(1));
  EXPECT_FALSE(ops[0].complete);
  EXPECT_EQ(ops[0].behind[2], Duration::ms(31));
  EXPECT_EQ(missed(2), 0u);
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_EQ(missed(2), 1u);
  EXPECT_EQ(missed(0), 0u);
  give(2, 0, Duration::ms(1));  // it goes to the completion host, and counts all the same
  ops = lateness();
  EXPECT_TRUE(ops[0].complete);
  EXPECT_EQ(ops[0].behind[2], Duration::ms(532));
}

// The child that ended an epoch is still shown, and its lateness does not grow after the end.
TEST_F(LatenessTest, OfAnEpochThatEnded) {
  build_with([](config::JobConfig&) {});
  give(0, 0, Duration::ms(1));
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(status().state, JobState::aborted);
  now_ = now_ + Duration::seconds(100);
  EXPECT_THAT(lateness()[0].behind, ElementsAre(Duration(), Duration::ms(500), Duration::ms(500)));
  EXPECT_EQ(missed(1), 1u);
}

TEST_F(LatenessTest, StragglersAreRankedByTheirMean) {
  build_with([](config::JobConfig&) {});
  for (std::uint32_t op = 0; op < 4; ++op) {
    give(0, op, Duration::ms(1));
    give(1, op, Duration::ms(2));
    give(2, op, Duration::ms(op == 3 ? 18 : 2));
  }
  const auto rows = engine_->stragglers(now_);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].id, 2u);
  EXPECT_EQ(rows[0].mean, Duration::ms(8));
  EXPECT_EQ(rows[0].most, Duration::ms(20));
  EXPECT_EQ(rows[0].last, Duration::ms(20));
  EXPECT_EQ(rows[0].ops, 4u);
  EXPECT_EQ(rows[0].peer.port(), 2);
  EXPECT_THAT(rows[0].ranks, ElementsAre(2));
  EXPECT_EQ(rows[1].id, 1u);
  EXPECT_EQ(engine_->child_totals(0, 2).timed_arrivals.get(), 4u);
  EXPECT_EQ(engine_->child_totals(0, 2).lateness_ns.get(), 32'000'000u);
  EXPECT_EQ(rows[2].mean, Duration());
}

// A look is of so many children, whatever their jobs are like, and all looks together are the
// whole.
TEST_F(LatenessTest, O1_StragglersAreFoundAFewChildrenAtATime) {
  std::vector<config::JobConfig> jobs = {test_job(40), test_job(3), test_job(5), test_job(70)};
  for (std::uint32_t i = 0; i < jobs.size(); ++i) jobs[i].id = kJob + i;
  jobs[3].shards = 2;
  build(test_switch(jobs));
  join_all();
  for (std::uint32_t rank = 0; rank < 40; ++rank) give(rank, 0, Duration::ms(1 + rank % 7));
  const auto whole = engine_->stragglers(now_);
  ASSERT_THAT(whole, SizeIs(40 + 3 + 5 + 70));
  for (const std::size_t most : {1u, 8u, 32u, 1000u}) {
    std::vector<ChildLateness> all;
    std::size_t looks = 0;
    LatenessPlace place;
    for (bool more = true; more; ++looks) {
      const std::size_t before = all.size();
      more = engine_->stragglers(now_, place, most, all);
      ASSERT_LE(all.size() - before, most);
      ASSERT_GT(all.size(), before);
    }
    EXPECT_FALSE(engine_->stragglers(now_, place, most, all)) << "still";
    EXPECT_GE(looks, whole.size() / most);
    sort_latest_first(all);
    ASSERT_THAT(all, SizeIs(whole.size())) << most;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].job, whole[i].job);
      EXPECT_EQ(all[i].id, whole[i].id);
      EXPECT_EQ(all[i].mean, whole[i].mean);
    }
  }
  LatenessPlace last{3, 0};
  std::vector<ChildLateness> some;
  EXPECT_TRUE(engine_->stragglers(now_, last, 32, some));
  EXPECT_THAT(some, SizeIs(16)) << "of two shards each";
}

TEST_F(LatenessTest, RemembersTheLatestOpsOnly) {
  build_with([](config::JobConfig&) {});
  for (std::uint32_t op = 0; op < 40; ++op)
    for (std::uint32_t rank = 0; rank < 3; ++rank) give(rank, op, Duration::ms(1));
  const auto ops = lateness();
  ASSERT_THAT(ops, SizeIs(32));
  EXPECT_EQ(ops.front().op, 8u);
  EXPECT_EQ(ops.back().op, 39u);
}

// A broadcast has one sender; the others are not late.
TEST_F(LatenessTest, DataThatIsPassedOnHasNoStragglers) {
  build_with([](config::JobConfig&) {});
  wire::Header h = data_header(1, 0, 1);
  h.collective = wire::Collective::broadcast;
  const std::int32_t value = 1;
  deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(1));
  EXPECT_THAT(lateness(), IsEmpty());
}

// The latest of all shards counts.
TEST_F(LatenessTest, OverAllShards) {
  build_with([](config::JobConfig& job) { job.shards = 2; });
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    for (std::uint8_t shard = 0; shard < 2; ++shard) {
      wire::Header h = data_header(rank, 0, 1);
      h.shard = shard;
      h.chunk = shard;
      now_ = now_ + Duration::ms(shard == 1 ? 7 : 1);
      const std::int32_t value = 1;
      deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
    }
  EXPECT_THAT(lateness()[0].behind, ElementsAre(Duration(), Duration::ms(8), Duration::ms(16)));
}

}  // namespace
}  // namespace tributary::aggregator
