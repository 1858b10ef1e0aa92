#include "worker/api/retry_state.h"

#include <gtest/gtest.h>

namespace tributary::worker {
namespace {

Instant at(std::int64_t ms) {
  return Instant() + Duration::ms(ms);
}

class RetryStateTest : public ::testing::Test {
 protected:
  RetryState state_{0, 2, 1 << 20, Duration::seconds(30)};
};

// Rule 23: a JOIN that came late looks like a rank that was started anew, until that rank's next.
TEST_F(RetryStateTest, ANewcomerHasToBeThereForASecond) {
  EXPECT_FALSE(state_.newcomer_stays(at(0)));
  for (std::int64_t ms = 20; ms < 1000; ms += 20) EXPECT_FALSE(state_.newcomer_stays(at(ms))) << ms;
  EXPECT_TRUE(state_.newcomer_stays(at(1000)));
  EXPECT_TRUE(state_.newcomer_stays(at(1499)));
}

TEST_F(RetryStateTest, ANewcomerThatIsGoneIsForgotten) {
  EXPECT_FALSE(state_.newcomer_stays(at(0)));
  EXPECT_FALSE(state_.newcomer_stays(at(499)));
  EXPECT_FALSE(state_.newcomer_stays(at(999))) << "this is another one's first";
  EXPECT_FALSE(state_.newcomer_stays(at(1400)));
  EXPECT_FALSE(state_.newcomer_stays(at(1800)));
  EXPECT_TRUE(state_.newcomer_stays(at(1999)));
}

// START is the end of all refusals.
TEST_F(RetryStateTest, AnEpochThatBeginsForgetsIt) {
  EXPECT_FALSE(state_.newcomer_stays(at(0)));
  state_.refused.reset();
  EXPECT_FALSE(state_.newcomer_stays(at(400)));
  EXPECT_FALSE(state_.newcomer_stays(at(800)));
  EXPECT_FALSE(state_.newcomer_stays(at(1200)));
  EXPECT_TRUE(state_.newcomer_stays(at(1400)));
}

TEST_F(RetryStateTest, ResumesFromACommonPastAlone) {
  EXPECT_FALSE(state_.resumption().resumes());
  state_.past = 7;
  EXPECT_TRUE(state_.resumption().retries());
  EXPECT_EQ(state_.resumption().id, 7u);
  EXPECT_FALSE(state_.is_busy());
  state_.stage = RetryState::Stage::joining;
  EXPECT_TRUE(state_.is_busy());
}

}  // namespace
}  // namespace tributary::worker
