// Findings about a cluster from its manager's answers.
#include "tools/client/manager/cluster_state.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using testing::HasSubstr;
using Level = Finding::Level;

Json switch_row(const char* name) {
  return {{"name", name},  {"connected", true}, {"problem", ""},
          {"bytes", "16"}, {"term", "1"},       {"revision", "7"}};
}

Finding only(const Json& sw) {
  const auto found =
      judge_cluster({{"term", "1"}, {"revision", "7"}, {"switches", Json::array({sw})}});
  EXPECT_EQ(found.size(), 1u);
  return found.at(0);
}

TEST(ClusterState, ASwitchThatIsWell) {
  EXPECT_EQ(only(switch_row("A")).level, Level::ok);
}

TEST(ClusterState, T20_ACableThatLeadsElsewhere) {
  Json sw = switch_row("A");
  sw["wrong_cables"] = Json::array({"port up leads to B.up, and the topology says root.a"});
  const auto found =
      judge_cluster({{"term", "1"}, {"revision", "7"}, {"switches", Json::array({sw})}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].level, Level::error);
  EXPECT_EQ(found[1].subject, "switch A");
  EXPECT_EQ(found[1].state, "port up leads to B.up, and the topology says root.a");
}

TEST(ClusterState, WhatKeepsASwitchFromTakingJobs) {
  Json sw = switch_row("A");
  sw["revision"] = "6";
  EXPECT_EQ(only(sw).level, Level::warning);
  EXPECT_THAT(only(sw).state, HasSubstr("1/6, the newest is 1/7"));
  sw["bytes"] = "0";
  EXPECT_THAT(only(sw).remedy, HasSubstr("reserve_megabytes"));
  sw["problem"] = "memory is in pieces";
  EXPECT_EQ(only(sw).state, "memory is in pieces");
  sw["connected"] = false;
  EXPECT_EQ(only(sw).level, Level::error);
  EXPECT_THAT(only(sw).remedy, HasSubstr("tributary-agentd"));
}

TEST(ClusterState, AnAgentOfAnotherVersionIsTold) {
  Json sw = switch_row("A");
  sw["version"] = TRIBUTARY_VERSION;
  EXPECT_EQ(only(sw).level, Level::ok);
  sw["version"] = "0.0.7";
  const auto found =
      judge_cluster({{"term", "1"}, {"revision", "7"}, {"switches", Json::array({sw})}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].level, Level::warning);
  EXPECT_EQ(found[1].subject, "agent of switch A");
  EXPECT_EQ(found[1].state, "is of version 0.0.7, and this program is of " TRIBUTARY_VERSION);
}

TEST(ClusterState, CertificatesThatEndSoonOrHaveEnded) {
  const auto found = judge_certificates(
      Json::array({Json{{"path", "a.pem"}, {"days", 400}, {"until", "Jan  1 2028 GMT"}},
                   Json{{"path", "b.pem"}, {"days", 13}, {"until", "Jan  2 2028 GMT"}},
                   Json{{"path", "c.pem"}, {"days", -1}, {"until", "Jan  3 2028 GMT"}},
                   Json{{"path", "d.pem"}, {"problem", "d.pem: is no certificate in PEM"}}}));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].level, Level::ok);
  EXPECT_EQ(found[0].state, "is valid until Jan  1 2028 GMT");
  EXPECT_EQ(found[1].level, Level::warning);
  EXPECT_EQ(found[1].subject, "certificate b.pem");
  EXPECT_EQ(found[1].state, "expires soon, at Jan  2 2028 GMT");
  EXPECT_EQ(found[2].level, Level::error);
  EXPECT_EQ(found[2].state, "expired at Jan  3 2028 GMT");
  EXPECT_THAT(found[2].remedy, HasSubstr("ask the authority"));
  EXPECT_EQ(found[3].level, Level::error);
  EXPECT_EQ(found[3].state, "d.pem: is no certificate in PEM");
  EXPECT_TRUE(judge_certificates(Json::array()).empty());
}

TEST(ClusterState, DrainedWorkersAndJobs) {
  const auto workers = judge_cluster(
      {{"workers", Json::array({Json{{"name", "w"}, {"drained", true}}, Json{{"name", "v"}}})}});
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].remedy, "tributary job drain-node w --undo");
  const auto jobs = judge_cluster_jobs(
      Json::array({Json{{"name", "a"}, {"state", "RUNNING"}, {"waits_for", ""}},
                   Json{{"name", "b"}, {"state", "STARTING"}, {"waits_for", "A"}},
                   Json{{"name", "c"}, {"state", "QUEUED"}, {"waits_for", "needs 64 slots"}}}));
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].level, Level::ok);
  EXPECT_EQ(jobs[1].level, Level::error);
  EXPECT_EQ(jobs[2].state, "waits: needs 64 slots");
}

TEST(ClusterState, AnswersOfAnotherVersionSayNothing) {
  EXPECT_TRUE(judge_cluster(Json::object()).empty());
  EXPECT_EQ(judge_cluster({{"switches", Json::array({Json::object()})}}).size(), 1u);
}

}  // namespace
}  // namespace tributary::client
