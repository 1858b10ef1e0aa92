// Ends of ops from several planes, epochs and switches (C7).
#include "telemetry/table/op_table.h"

#include <gtest/gtest.h>

namespace tributary::telemetry {
namespace {

constexpr std::uint32_t kJob = 5;
constexpr std::uint32_t kNode = 7;

class Ends : public testing::Test {
 protected:
  bool end(std::uint32_t op, std::uint8_t plane = 0, std::uint8_t planes = 1,
           std::uint16_t epoch = 1, std::uint32_t node = kNode) {
    now = now + Duration::ms(10);
    return table.take({kJob, op, epoch, plane, planes}, node, now);
  }
  const JobOps& job() { return table.jobs().at(kJob); }

  OpTable table{2};
  Instant now = Instant::from_ns(1);
};

TEST_F(Ends, C7_AreCountedOnceWithTheTimeBetweenThem) {
  EXPECT_TRUE(end(0));
  EXPECT_EQ(job().period_ns, 0u);
  EXPECT_FALSE(end(0)) << "the result was sent again";
  EXPECT_TRUE(end(1));
  EXPECT_EQ(job().period_ns, 20'000'000u);
  EXPECT_TRUE(end(2));
  EXPECT_EQ(job().period_ns, 10'000'000u);
  EXPECT_LT(job().period_ewma_ns, 20'000'000u);
  EXPECT_GT(job().period_ewma_ns, 10'000'000u);
  EXPECT_FALSE(end(1)) << "older";
  EXPECT_EQ(job().ended, 3u);
  EXPECT_EQ(job().op, 2u);
  EXPECT_EQ(table.ended(), 3u);
}

TEST_F(Ends, C7_AnOpEndsWhenAllPlanesHaveEndedIt) {
  EXPECT_FALSE(end(0, 0, 3));
  EXPECT_FALSE(end(0, 2, 3));
  EXPECT_FALSE(end(0, 2, 3));
  EXPECT_TRUE(end(0, 1, 3));
  EXPECT_FALSE(end(1, 0, 3));
  EXPECT_FALSE(end(2, 0, 3)) << "a plane is ahead: its op counts from now on";
  EXPECT_FALSE(end(1, 1, 3));
  EXPECT_FALSE(end(2, 1, 3));
  EXPECT_TRUE(end(2, 2, 3));
  EXPECT_EQ(job().ended, 2u);
}

TEST_F(Ends, C7_AnotherEpochOrRootBeginsAnew) {
  EXPECT_TRUE(end(9));
  EXPECT_TRUE(end(0, 0, 1, 2)) << "ops begin with 0 again";
  EXPECT_TRUE(end(0, 0, 1, 2, 8));
  EXPECT_EQ(job().node, 8u);
  EXPECT_EQ(job().ended, 3u);
}

TEST_F(Ends, APauseIsNoOps) {
  EXPECT_TRUE(end(0));
  EXPECT_TRUE(end(1));
  const auto before = job().period_ewma_ns;
  now = now + Duration::seconds(3600);
  EXPECT_TRUE(end(2));
  EXPECT_EQ(job().period_ns, 0u);
  EXPECT_EQ(job().period_ewma_ns, before);
}

TEST_F(Ends, PlanesThatCannotBeAreLeftOut) {
  EXPECT_FALSE(end(0, 0, 0));
  EXPECT_FALSE(end(0, 3, 3));
  EXPECT_FALSE(end(0, 64, 200));
  EXPECT_TRUE(table.jobs().empty());
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

}  // namespace
}  // namespace tributary::telemetry
