#include "tools/client/doctor/switch_state.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(SwitchState, APortThatIsDownIsAnErrorWithItsReason) {
  const auto found = judge_ports(Json::parse(
      R"([{"port":"w0","link":"up","note":""},
          {"port":"w1","link":"down","note":"No such device","device":"net_af_packet0,iface=x"}])"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].level, Finding::Level::error);
  EXPECT_EQ(found[0].subject, "port w1");
  EXPECT_THAT(found[0].state, HasSubstr("No such device"));
  EXPECT_THAT(found[0].remedy, HasSubstr("iface=x"));
}

TEST(SwitchState, GoodPortsAreOneLine) {
  EXPECT_THAT(judge_ports(Json::parse(R"([{"port":"a","link":"up"},{"port":"b","link":"up"}])")),
              SizeIs(1));
  EXPECT_THAT(judge_ports(Json::array()), IsEmpty());
}

TEST(SwitchState, AServerThatWaitsForAPeerIsNoError) {
  const auto found =
      judge_ports(Json::parse(R"([{"port":"a","link":"up"},{"port":"b","link":"listening"}])"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].level, Finding::Level::ok);
  EXPECT_EQ(found[0].state, "1 of 2 wait for a peer, the other links are up");
}

// "1" of one version, 1 of another; a bool or a word.
TEST(SwitchState, AJobThatFormsNamesTheRanksThatAreMissing) {
  const auto found = judge_jobs(
      Json::parse(R"([{"job":1,"state":"forming"},{"job":2,"state":"running","present":4}])"),
      Json::parse(R"([{"job":1,"is":"worker","ranks":[0],"state":"present"},
                      {"job":1,"is":"worker","ranks":[2],"state":"absent"},
                      {"job":1,"is":"switch","ranks":[3,4],"state":"absent"},
                      {"job":1,"is":"worker","ranks":[5],"state":"absent"},
                      {"job":2,"is":"worker","ranks":[1],"state":"absent"}])"));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].level, Finding::Level::warning);
  EXPECT_EQ(found[0].state, "is forming; ranks that have not joined here: 2, 5");
  EXPECT_EQ(found[1].level, Finding::Level::ok);
}

TEST(SwitchState, AJobWhoseResultsAreAllSentAgainLacksMulticast) {
  const auto jobs = [](int completions, int resent) {
    return judge_jobs(Json::array({{{"job", 1},
                                    {"state", "running"},
                                    {"present", 2},
                                    {"completions", completions},
                                    {"results_resent", resent}}}),
                      Json::array());
  };
  const auto found = jobs(16, 16);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1].level, Finding::Level::warning);
  EXPECT_THAT(found[1].remedy, HasSubstr("IGMP snooping without a querier"));
  EXPECT_THAT(jobs(16, 15), SizeIs(1));
  EXPECT_THAT(jobs(15, 15), SizeIs(1)) << "too few to tell";
}

TEST(SwitchState, DropsThatHintAtAMistakeHaveARemedy) {
  const auto found = judge_drops(Json::parse(
      R"([{"port":"w0","reason":"checksum","packets":12},{"port":"w0","reason":"duplicate","packets":3}])"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].remedy, HasSubstr("tx off"));
}

TEST(SwitchState, ADropHintNamesItsAgeAndGoes) {
  const auto drops = [](double age) {
    return judge_drops(Json::array(
        {{{"port", "w0"}, {"reason", "checksum"}, {"packets", 12}, {"last_ago_s", age}}}));
  };
  ASSERT_THAT(drops(3.4), SizeIs(1));
  EXPECT_EQ(drops(3.4)[0].state, "12 packets dropped as checksum, the last 3 s ago");
  EXPECT_THAT(drops(60), IsEmpty());
}

TEST(SwitchState, ARouterThatDoesNotAnswerIsAnError) {
  const auto found = judge_neighbours(Json::parse(
      R"([{"address":"10.0.0.1","port":"a","state":"asking"},
          {"address":"10.0.0.2","port":"a","state":"reachable"}])"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].level, Finding::Level::error);
  EXPECT_EQ(found[0].subject, "router 10.0.0.1");
}

TEST(SwitchState, RowsThatLackKeysSayNothingWrong) {
  EXPECT_FALSE(has_errors(judge_ports(Json::parse("[{}]"))));
  EXPECT_FALSE(has_errors(judge_jobs(Json::parse("[{}]"), Json::parse("[{}]"))));
  EXPECT_THAT(judge_drops(Json::parse("[{}]")), IsEmpty());
  EXPECT_THAT(judge_neighbours(Json::parse("[{}]")), IsEmpty());
}

}  // namespace
}  // namespace tributary::client
