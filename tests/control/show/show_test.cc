#include "control/show/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "config/load/load.h"
#include "control/metrics/metrics.h"
#include "control/text/show_text.h"
#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

class ShowTestTimed : public testing::Test {
 protected:
  RunningSwitch sw;
  Show show{sw.get()};

  static std::vector<std::string> keys(const ordered_json& row) {
    std::vector<std::string> out;
    for (const auto& [key, value] : row.items()) out.push_back(key);
    return out;
  }
};

TEST_F(ShowTestTimed, EveryTableIsAListOfFlatObjectsWithPlainValues) {
  const std::string tables = Show::tables();
  for (const char* what :
       {"ports",      "jobs",      "members", "tree",   "slots",     "holds",     "stragglers",
        "completion", "escalated", "drops",   "stages", "lcores",    "rxq",       "handover",
        "fdb",        "acl",       "groups",  "lldp",   "fragments", "buffers",   "routes",
        "neighbours", "qps",       "vlans",   "hosts",  "seats",     "telemetry", "names"}) {
    EXPECT_THAT(tables, testing::HasSubstr(what));
    const auto table = show.table(what);
    ASSERT_TRUE(table.is_array()) << what;
    for (const auto& row : table) {
      ASSERT_TRUE(row.is_object()) << what;
      for (const auto& [key, value] : row.items()) expect_plain(value, what + ("/" + key));
    }
  }
}

TEST_F(ShowTestTimed, Ports) {
  const auto table = show.table("ports");
  ASSERT_EQ(table.size(), 2u);
  EXPECT_THAT(
      keys(table[0]),
      testing::ElementsAre("port", "link", "mtu", "checksums", "vlan", "rx_packets", "rx_bytes",
                           "tx_packets", "tx_bytes", "drops", "marked", "jobs_marked", "rx_missed",
                           "rx_errors", "rx_no_buffer", "tx_errors", "device", "note"));
  EXPECT_EQ(table[1]["port"], "right");
  EXPECT_EQ(table[1]["mtu"], 9000);
  EXPECT_EQ(table[0]["checksums"], "software");
  EXPECT_EQ(table[0]["vlan"], "transparent");
  EXPECT_EQ(table[1]["device"], "net_null1,no-rx=1");
}

TEST_F(ShowTestTimed, BuffersThatAreFreeAndThoseInUse) {
  const dataplane::FramePool& pool = sw.get().pools()[0];
  const auto table = show.table("buffers");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0]["socket"], socket_or_null(pool.socket()));
  EXPECT_EQ(table[0]["buffers"], pool.buffers());
  EXPECT_EQ(table[0]["free"], pool.free_buffers());
  EXPECT_EQ(table[0]["in_use"], pool.buffers() - pool.free_buffers());
}

TEST_F(ShowTestTimed, OneLcoreHasEverythingAndHandsNothingOver) {
  const auto lcores = show.table("lcores");
  ASSERT_EQ(lcores.size(), 1u);
  EXPECT_TRUE(lcores[0]["cpu"].is_null());
  EXPECT_EQ(lcores[0]["queues"], (std::vector<std::string>{"left:0", "right:0"}));
  EXPECT_EQ(lcores[0]["jobs"], std::vector{7});
  EXPECT_TRUE(show.table("handover").empty());
  EXPECT_EQ(show.table("stages 0").size(), show.table("stages").size());
  EXPECT_THROW(static_cast<void>(show.table("stages 1")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(show.table("stages x")), std::invalid_argument);
}

// A request is such a call of the first stage; the ports are silent, so that `receive` only polls.
TEST_F(ShowTestTimed, StagesSayHowLongACallWithWorkTook) {
  EXPECT_FALSE(show.table("members").empty());
  ordered_json commands;
  do commands = show.table("stages")[0];
  while (commands["max_us"] == 0.0);  // the loop answers before it has counted the call
  EXPECT_THAT(keys(commands),
              testing::ElementsAre("stage", "calls", "packets", "cycles", "idle_cycles",
                                   "cycles_per_packet", "share_percent", "p50_us", "p99_us",
                                   "max_us", "what"));
  EXPECT_EQ(commands["stage"], "commands");
  EXPECT_GT(commands["p50_us"], 0.0);
  EXPECT_LE(commands["p50_us"], commands["p99_us"]);
  EXPECT_LE(commands["p99_us"], commands["max_us"]);
  const auto receive = show.table("stages 0")[2];
  EXPECT_EQ(receive["stage"], "receive");
  EXPECT_GT(receive["idle_cycles"], 0);
  EXPECT_EQ(receive["p99_us"], 0.0);
  EXPECT_EQ(receive["max_us"], 0.0);
}

TEST_F(ShowTestTimed, JobsAndMembers) {
  const auto jobs = show.table("jobs");
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0]["job"], 7);
  EXPECT_EQ(jobs[0]["name"], "train");
  EXPECT_EQ(jobs[0]["state"], "idle");
  EXPECT_EQ(jobs[0]["workers"], 3);
  const auto members = show.table("members");
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[2]["rank"], 2);
  EXPECT_EQ(members[2]["present"], false);
  EXPECT_TRUE(members[2]["address"].is_null());
  EXPECT_TRUE(members[2]["silent_ms"].is_null()) << "it was never heard";
}

TEST_F(ShowTestTimed, CompletionHasTheJobsOfThisRoot) {
  const auto table = show.table("completion");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0]["job"], 7);
  EXPECT_EQ(table[0]["completions"], 0);
  EXPECT_EQ(table[0]["by_collision"], 0);
  EXPECT_GT(table[0]["bytes_limit"], 0);
  EXPECT_TRUE(show.table("escalated").empty());
}

TEST_F(ShowTestTimed, AnOpIsNamedByJobAndNumber) {
  const auto error = [&](const char* what) {
    try {
      static_cast<void>(show.table(what));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  for (const char* bad :
       {"op ", "op 7", "op 7/", "op /1", "op 7/x", "op 7/1/2", "op -7/1", "op 7/99999999999"})
    EXPECT_THAT(error(bad), testing::HasSubstr("names no op; JOB/OP does")) << bad;
  EXPECT_THAT(error("op 7/0"), testing::HasSubstr("op 0 of job 7 is not known here"));
  EXPECT_THAT(error("op 8/0"), testing::HasSubstr("the last 32"));
  EXPECT_THAT(error("op"), testing::HasSubstr("allowed: ports, "));
  EXPECT_TRUE(show.table("ops 7").empty());
  EXPECT_THAT(error("ops x"), testing::HasSubstr("names no job"));
  EXPECT_THAT(error("ops 99"), testing::HasSubstr("job 99 is not here"));
}

TEST_F(ShowTestTimed, T22_HoldsOfAllJobsOrTheHistogramOfOne) {
  const auto table = show.table("holds");
  ASSERT_EQ(table.size(), 2u);
  EXPECT_THAT(keys(table[1]),
              testing::ElementsAre("job", "plane", "shard", "held", "open", "mean_ms", "p50_ms",
                                   "p99_ms", "max_ms", "deadline_ms", "bound_ms"));
  EXPECT_EQ(table[0]["job"], "all");
  EXPECT_EQ(table[0]["held"], 0);
  EXPECT_EQ(table[1]["job"], 7);
  EXPECT_GE(table[1]["bound_ms"], table[1]["deadline_ms"]);
  EXPECT_TRUE(show.table("holds 7").empty());
  EXPECT_TRUE(show.table("holds all").empty());
  EXPECT_THROW(static_cast<void>(show.table("holds 8")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(show.table("holds x")), std::invalid_argument);
}

TEST_F(ShowTestTimed, StragglersOfAllJobsOrOfOne) {
  for (const char* what : {"stragglers", "stragglers 7"}) {
    const auto table = show.table(what);
    ASSERT_EQ(table.size(), 3u);
    EXPECT_THAT(
        keys(table[0]),
        testing::ElementsAre("job", "plane", "node", "ranks", "mean_ms", "max_ms", "last_ms", "ops",
                             "first", "last", "missed_deadlines", "excluded", "port", "link"));
    EXPECT_EQ(table[2]["node"], "rank 2");
    EXPECT_EQ(table[2]["ops"], 0);
  }
  EXPECT_THROW(static_cast<void>(show.table("stragglers 8")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(show.table("stragglers x")), std::invalid_argument);
}

TEST_F(ShowTestTimed, TreeOfASwitchThatStandsAlone) {
  const auto tree = show.table("tree");
  ASSERT_EQ(tree.size(), 3u);
  EXPECT_THAT(keys(tree[0]), testing::ElementsAre("job", "plane", "node", "is", "index", "of",
                                                  "port", "state", "ranks", "refused"));
  EXPECT_EQ(tree[1]["node"], "rank 1");
  EXPECT_EQ(tree[1]["is"], "worker");
  EXPECT_EQ(tree[1]["index"], 1);
  EXPECT_EQ(tree[1]["of"], 3);
  EXPECT_EQ(tree[1]["state"], "absent");
  EXPECT_TRUE(tree[1]["refused"].is_null());
}

TEST_F(ShowTestTimed, AclHasARowForItsDefault) {
  const auto table = show.table("acl");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_THAT(keys(table[0]), testing::ElementsAre("rule", "action", "frames", "match"));
  EXPECT_EQ(table[0]["rule"], "default");
  EXPECT_EQ(table[0]["action"], "allow");
}

TEST_F(ShowTestTimed, NoGroupsWithoutSnooping) {
  EXPECT_TRUE(show.table("groups").empty());
}

TEST_F(ShowTestTimed, NoNeighboursWithoutLldp) {
  EXPECT_TRUE(show.table("lldp").empty());
}

TEST_F(ShowTestTimed, ConfigReadsBackAsTheSameConfiguration) {
  const auto text = show.table("config").get<std::string>();
  EXPECT_EQ(text, config::dump(null_config()));
}

TEST_F(ShowTestTimed, UnknownTablesAreRefusedWithTheAllowedOnes) {
  try {
    const auto none = show.table("weather");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("weather"));
    EXPECT_THAT(error.what(), testing::HasSubstr(Show::tables()));
  }
}

// The loop runs; scrapes and tables come at any time, from other threads.
TEST_F(ShowTestTimed, Rule16_AReloadIsSeenByAllWhoAsk) {
  const Metrics metrics(sw.get());
  std::atomic<bool> over{false};
  std::thread scraper([&] {
    while (!over.load()) static_cast<void>(metrics.Collect());
  });
  config::SwitchConfig next = null_config();
  for (int i = 0; i < 20; ++i) {
    next.jobs[0].lease = Duration::seconds(20 + i);
    next.jobs[0].id = i % 2 == 0 ? 8 : 7;
    const config::Change change = sw.get().apply(next);
    EXPECT_EQ(change.added.size() + change.removed.size(), 2u);
    const auto jobs = show.table("jobs");
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0]["job"], next.jobs[0].id);
    EXPECT_EQ(show.table("config"), config::dump(next));
  }
  over.store(true);
  scraper.join();
  next.slots += 1;
  EXPECT_THROW(sw.get().apply(next), std::invalid_argument);
  EXPECT_EQ(show.table("slots").size(), 0u);
}

}  // namespace
}  // namespace tributary::control
