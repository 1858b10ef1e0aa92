// Ends of ops from several planes, epochs and switches (C7).
#include "telemetry/table/op_table.h"

#include <gtest/gtest.h>

namespace tributary::telemetry {
namespace {

constexpr std::uint32_t kJob = 5;
constexpr std::uint32_t kNode = 7;

class Ends : public testing::Test {
 protected:
  bool end(std::uint32_t op, std::uint16_t epoch = 1, std::uint32_t node = kNode) {
    now = now + Duration::ms(25);
    return table.take({kJob, op, epoch, 0, 1}, node, now);
  }
  const JobOps& job() { return table.jobs().at(kJob); }

  OpTable table{2};
  Instant now = Instant::from_ns(1);
};

TEST_F(Ends, C7_AreCountedOnceWithTheTimeBetweenThem) {
  EXPECT_TRUE(end(0));
  EXPECT_EQ(job().period_ewma_ns, 0u);
  EXPECT_FALSE(end(0)) << "the result was sent again";
  EXPECT_TRUE(end(1));
  EXPECT_EQ(job().period_ewma_ns, 50'000'000u);
  EXPECT_TRUE(end(2));
  EXPECT_LT(job().period_ewma_ns, 50'000'000u);
  EXPECT_GT(job().period_ewma_ns, 25'000'000u);
  EXPECT_FALSE(end(1)) << "older";
  EXPECT_EQ(job().ended, 3u);
  EXPECT_EQ(job().op, 2u);
  EXPECT_EQ(table.ended(), 3u);
}

TEST_F(Ends, C7_ThoseOfOneDatagramShareTheTime) {
  EXPECT_TRUE(end(0));
  for (std::uint32_t op = 1; op <= 5; ++op)
    EXPECT_TRUE(table.take({kJob, op, 1, 0, 1}, kNode, now));
  EXPECT_EQ(job().period_ewma_ns, 0u);
  EXPECT_TRUE(end(6));
  EXPECT_EQ(job().period_ewma_ns, 25'000'000u / 6);
}

// Each plane has epochs of its own, and small ops are the first one's alone.
TEST_F(Ends, C7_OfSeveralPlanesTheFirstOnesCount) {
  for (std::uint32_t op = 0; op < 4; ++op) {
    EXPECT_TRUE(table.take({kJob, op, 7, 0, 2}, kNode, now));
    if (op % 2 == 0) {
      EXPECT_FALSE(table.take({kJob, op, 4099, 1, 2}, kNode, now));
    }
  }
  EXPECT_EQ(job().ended, 4u);
  EXPECT_EQ(job().epoch, 7u);
}

TEST_F(Ends, C7_AnotherEpochOrRootBeginsAnew) {
  EXPECT_TRUE(end(9));
  EXPECT_TRUE(end(0, 2)) << "ops begin with 0 again";
  EXPECT_FALSE(end(0, 2, 8)) << "the job's switch speaks for it";
  EXPECT_EQ(job().node, kNode);
  now = now + kTakeOver;
  EXPECT_TRUE(end(0, 2, 8));
  EXPECT_EQ(job().node, 8u);
  EXPECT_EQ(job().ended, 3u);
}

TEST_F(Ends, APauseIsNoOps) {
  EXPECT_TRUE(end(0));
  EXPECT_TRUE(end(1));
  const auto before = job().period_ewma_ns;
  now = now + Duration::seconds(3600);
  EXPECT_TRUE(end(2));
  EXPECT_EQ(job().period_ewma_ns, before);
  EXPECT_TRUE(end(3));
  EXPECT_LE(job().period_ewma_ns, before);
}

TEST_F(Ends, TheJobThatWasSilentForLongestMakesRoom) {
  for (const std::uint32_t id : {1u, 2u, 1u, 3u}) {
    now = now + Duration::ms(1);
    table.take({id, static_cast<std::uint32_t>(now.to_ns()), 1, 0, 1}, kNode, now);
  }
  EXPECT_EQ(table.jobs().size(), 2u);
  EXPECT_FALSE(table.jobs().contains(2));
  EXPECT_EQ(table.ended(), 4u);
}

TEST_F(Ends, C7_ASwitchThatTellsOfManyJobsPushesOutItsOwn) {
  OpTable four{4};
  const auto tell = [&](std::uint32_t job, std::uint32_t node) {
    now = now + Duration::ms(1);
    four.take({job, 0, 1, 0, 1}, node, now);
  };
  tell(1, kNode);
  tell(2, 8);
  for (std::uint32_t job = 100; job < 200; ++job) tell(job, 9);
  EXPECT_EQ(four.jobs().size(), 4u);
  EXPECT_TRUE(four.jobs().contains(1));
  EXPECT_TRUE(four.jobs().contains(2));
  EXPECT_TRUE(four.jobs().contains(199));
  // A job that moves to another switch counts there.
  now = now + kTakeOver;
  tell(199, kNode);
  tell(3, kNode);
  EXPECT_FALSE(four.jobs().contains(1)) << "the oldest of the switch that has most";
  EXPECT_TRUE(four.jobs().contains(198));
}

}  // namespace
}  // namespace tributary::telemetry
