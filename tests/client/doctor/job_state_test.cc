#include "tools/client/doctor/job_state.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Json kRunning = Json::parse(R"([{"job":1,"plane":0,"state":"running"}])");
const Json kForming = Json::parse(R"([{"job":1,"plane":0,"state":"forming"}])");

Json row(int rank, double mean, double last, int ops = 16) {
  return {{"job", 1},           {"plane", 0},      {"node", "rank " + std::to_string(rank)},
          {"mean_ms", mean},    {"last_ms", last}, {"ops", ops},
          {"excluded", Json()}, {"port", "w2"}};
}

TEST(JobState, ARankThatIsLateInEveryOpIsNamed) {
  const auto found =
      judge_stragglers(Json::array({row(2, 30, 28), row(0, 0.1, 0.1), row(1, 0, 0)}), kRunning);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].level, Finding::Level::warning);
  EXPECT_EQ(found[0].subject, "job 1");
  EXPECT_THAT(found[0].state, HasSubstr("rank 2 is late in every op: 30.0 ms behind the first"));
  EXPECT_THAT(found[0].remedy, HasSubstr("tributary show stragglers 1"));
}

TEST(JobState, LatenessThatIsUsualOrOverIsNone) {
  const auto judge = [](const Json& late, const Json& jobs = kRunning) {
    return judge_stragglers(Json::array({late, row(0, 0.1, 0.1), row(1, 0, 0)}), jobs);
  };
  EXPECT_THAT(judge(row(2, 4.9, 30)), IsEmpty()) << "too little";
  EXPECT_THAT(judge(row(2, 30, 1)), IsEmpty()) << "not in the last op";
  EXPECT_THAT(judge(row(2, 30, 30, 7)), IsEmpty()) << "too few ops";
  EXPECT_THAT(judge(row(2, 30, 30), kForming), IsEmpty());
  EXPECT_THAT(judge_stragglers(Json::array({row(0, 10, 9), row(1, 30, 30)}), kRunning), IsEmpty())
      << "all are slow";
  Json excluded = row(2, 30, 30);
  excluded["excluded"] = "from op 7";
  EXPECT_THAT(judge(excluded), IsEmpty());
}

Json child(const char* state) {
  return {{"job", 1},       {"plane", 0},      {"node", "switch 201"}, {"is", "switch"},
          {"state", state}, {"ranks", {2, 3}}, {"refused", Json()}};
}

TEST(JobState, ASwitchThatIsSilentWhileOthersWaitIsNamedWithItsRanks) {
  const auto found = judge_tree(Json::array({child("absent")}), kForming);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].level, Finding::Level::warning);
  EXPECT_THAT(found[0].state, HasSubstr("others wait for switch 201, which is silent"));
  EXPECT_THAT(found[0].state, HasSubstr("(2, 3)"));
  EXPECT_THAT(judge_tree(Json::array({child("absent")}), kRunning), IsEmpty());
  EXPECT_THAT(judge_tree(Json::array({child("present")}), kForming), IsEmpty());
}

TEST(JobState, ASwitchThatWaitsItselfIsNotDead) {
  const auto found = judge_tree(Json::array({child("waiting")}), kForming);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].state, HasSubstr("switch 201 answers, and waits for ranks below"));
}

TEST(JobState, ASwitchAboveThatBeginsNoEpochIsNamed) {
  Json parent = {{"job", 1},     {"plane", 0},         {"node", "root"},   {"is", "parent"},
                 {"port", "up"}, {"state", "joining"}, {"refused", Json()}};
  auto found = judge_tree(Json::array({parent}), kForming);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].state, HasSubstr("root, the switch above, has not begun an epoch"));
  parent["state"] = "down";
  EXPECT_THAT(judge_tree(Json::array({parent}), kForming), IsEmpty());
  parent["refused"] = "settings-mismatch";
  found = judge_tree(Json::array({parent}), kForming);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].level, Finding::Level::error);
}

TEST(JobState, RowsThatLackKeysSayNothing) {
  EXPECT_THAT(judge_tree(Json::parse("[{}]"), Json::parse("[{}]")), IsEmpty());
  EXPECT_THAT(judge_stragglers(Json::parse("[{}]"), Json::parse("[{}]")), IsEmpty());
}

}  // namespace
}  // namespace tributary::client
