// The hint behind the cause of a failure.
#include "tools/client/collective/next_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::client {
namespace {

using testing::HasSubstr;

std::string text(wire::Reason reason, std::vector<std::uint32_t> ranks = {},
                 const std::string& cause = "cause") {
  return with_next_step(CommunicatorError(reason, std::move(ranks), cause));
}

TEST(NextStep, FollowsTheCause) {
  using enum wire::Reason;
  EXPECT_EQ(text(unknown_job), "cause; `tributary show jobs` at the switch lists its jobs");
  EXPECT_THAT(text(bad_rank), HasSubstr("cause; see the job's workers"));
  EXPECT_THAT(text(sender_mismatch), HasSubstr("cause; end the other process that is this rank"));
  EXPECT_THAT(text(job_size_mismatch), HasSubstr("cause; give --size"));
  EXPECT_THAT(text(op_mismatch), HasSubstr("cause; give every rank the same"));
  EXPECT_THAT(text(lease_expired, {1}), HasSubstr("start all ranks again"));
  EXPECT_THAT(text(not_joined), HasSubstr("start all ranks again once the switch runs"));
  EXPECT_THAT(text(host_lost), HasSubstr("`tributary show hosts`"));
}

TEST(NextStep, OfATimeoutDependsOnWhoIsSilent) {
  EXPECT_THAT(text(wire::Reason::none, {3}), HasSubstr("cause; start these ranks"));
  EXPECT_THAT(text(wire::Reason::none, {}, "the switch did not answer at x"),
              HasSubstr("x; check that tributary-switchd runs"));
  EXPECT_EQ(text(wire::Reason::none), "cause") << "a local error says it itself";
}

TEST(MulticastWarning, IsForARankThatHadToAskForEachResult) {
  CommunicatorStats stats;
  stats.results = 8;
  stats.asked_results = 8;
  EXPECT_THAT(multicast_warning(3, stats),
              testing::AllOf(HasSubstr("rank 3: all 8 results"), HasSubstr("firewall")));
  stats.asked_results = 7;
  EXPECT_EQ(multicast_warning(3, stats), "");
  stats.results = stats.asked_results = 7;
  EXPECT_EQ(multicast_warning(3, stats), "") << "too few to tell";
}

}  // namespace
}  // namespace tributary::client
