// Results that lack ranks: allowed or not, after which wait, and one list for all.
#include "sim/rules/degraded_checker.h"

#include <array>

#include "core/wire/degraded.h"
#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

class DegradedCheckerTest : public SmallWorld {
 protected:
  void allow() {
    scenario_.jobs[0].degraded_after = Duration::ms(100);
    build();
    degraded_.emplace(run_);
  }
  void sent(std::uint32_t rank) {
    degraded_->contribution_sent(0, rank, header_of(wire::PacketType::contribution));
  }
  // The result of chunk 0; `missing`: as a bitmap, 0: it lacks none.
  void result(std::uint64_t missing) {
    auto message = result_of(0);
    if (missing != 0) {
      message.header.flags = wire::kFlagDegraded;
      message.header.covered = 1;
      wire::ExtensionWriter writer(message.extensions);
      wire::add_degraded_list(writer, 1, std::span(&missing, 1));
      message.extension_bytes = writer.bytes().size();
    }
    degraded_->check_result("switch", message);
  }
  // What a rank is told of the op with chunk 0.
  std::optional<std::string> told(std::uint32_t rank, std::uint64_t missing) {
    OpResult op;
    op.left_out = std::span(&missing, missing == 0 ? 0 : 1);
    return degraded_->wrong_list(0, degraded_->missing_of(0, 1, 0, rank), op);
  }

  std::optional<DegradedChecker> degraded_;
};

TEST_F(DegradedCheckerTest, Rule21_OnlyWhereTheJobAllowsIt) {
  build();
  degraded_.emplace(run_);
  result(0);
  EXPECT_EQ(violation(), "");
  result(2);
  EXPECT_EQ(violation(),
            "switch: the result of job 1 op 0 chunk 0 lacks ranks, which its job does not allow");
}

TEST_F(DegradedCheckerTest, Rule21_AllRanksAreToldOfTheSameMissingOnes) {
  allow();
  sent(0);
  pass(Duration::ms(100));
  result(2);
  result(2);
  EXPECT_EQ(violation(), "");
  EXPECT_FALSE(told(0, 2));
  EXPECT_TRUE(told(0, 0)) << "rank 1 is missing, and this rank is not told so";
  EXPECT_TRUE(told(0, 1));
  result(0);
  EXPECT_EQ(violation(), "switch: the result of job 1 op 0 chunk 0 has two lists of missing ranks");
}

TEST_F(DegradedCheckerTest, Rule21_NoRankIsLeftOutEarly) {
  allow();
  sent(0);
  pass(Duration::ms(90));
  result(2);
  EXPECT_EQ(violation(), "job 1 op 0 chunk 0 waited for its ranks for 90 ms only");
}

TEST_F(DegradedCheckerTest, Rule21_ARankThatSentInTimeIsIncluded) {
  allow();
  sent(0);
  sent(1);
  pass(scenario_.jobs[0].deadline + Duration::ms(60));
  result(2);
  EXPECT_EQ(violation(), "job 1 op 0 chunk 0 was made without rank 1, which sent it 560 ms before");
}

TEST_F(DegradedCheckerTest, WhereFramesAreLostARankMaySendInVain) {
  scenario_.links.loss_ppm = 1;
  allow();
  sent(0);
  sent(1);
  pass(Duration::seconds(1));
  result(2);
  EXPECT_EQ(violation(), "");
}

TEST_F(DegradedCheckerTest, AListHasToCountTheRest) {
  allow();
  auto message = result_of(0);
  message.header.flags = wire::kFlagDegraded;
  degraded_->check_result("switch", message);
  EXPECT_EQ(violation(), "switch: the result of job 1 op 0 chunk 0 has no true list");
}

}  // namespace
}  // namespace tributary::sim
