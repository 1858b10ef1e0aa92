// Chunk results: one for each chunk, and verified where the job wants that.
#include "sim/rules/result_checker.h"

#include <array>

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

constexpr std::array kOne{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
constexpr std::array kOther{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{5}};

class ResultCheckerTest : public SmallWorld {
 protected:
  ResultChecker results_{run_};
};

TEST_F(ResultCheckerTest, Rule5_AChunkHasOneResult) {
  build();
  results_.check_result("switch", result_of(7, kOne));
  results_.check_result("switch", result_of(8, kOther));
  results_.check_result("server", result_of(7, kOne));
  results_.check_result("server", result_of(7));
  EXPECT_EQ(violation(), "") << "a rank that does not get the sum is only told that it is done";
  results_.check_result("server", result_of(7, kOther));
  EXPECT_EQ(violation(), "server sent two results for job 1 shard 0 seq 7");
}

TEST_F(ResultCheckerTest, ANewEpochHasResultsOfItsOwn) {
  build();
  results_.check_result("switch", result_of(7, kOne));
  results_.epoch_started();
  results_.check_result("switch", result_of(7, kOther));
  EXPECT_EQ(violation(), "");
}

TEST_F(ResultCheckerTest, AJobThatVerifiesGetsNoOtherSum) {
  scenario_.jobs[0].sums.verify = true;
  build();
  auto result = result_of(3, kOne);
  result.header.flags = wire::kFlagVerified;
  results_.check_result("switch", result);
  result.header.flags = wire::kFlagOverflow;
  results_.check_result("switch", result);
  result.header.flags = 0;
  result.header.collective = wire::Collective::broadcast;
  results_.check_result("switch", result);
  EXPECT_EQ(violation(), "") << "verified, not a sum at all, or no sum";
  result.header.collective = wire::Collective::reduce;
  results_.check_result("switch", result);
  EXPECT_EQ(violation(), "switch sent a result without verification: job 1 shard 0 seq 3");
}

}  // namespace
}  // namespace tributary::sim
