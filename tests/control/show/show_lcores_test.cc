// `show` of switches with several lcores: which loop has what, and jobs with planes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "control/change/exclude.h"
#include "control/metrics/metrics.h"
#include "control/show/show.h"
#include "control/show/show_jobs.h"
#include "control/show/show_lcores.h"
#include "control/text/show_text.h"
#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

config::SwitchConfig two_lcores() {
  auto config = null_config();
  config.lcores = {-1, -1};
  config.jobs.push_back(config.jobs[0]);
  config.jobs[1].id = 8;
  config.jobs[1].name = "other";
  return config;
}

TEST(ShowLcores, SaysWhoHasWhat) {
  RunningSwitch sw(two_lcores());
  Show show(sw.get());
  const auto lcores = show.table("lcores");
  ASSERT_EQ(lcores.size(), 2u);
  EXPECT_EQ(lcores[0]["jobs"], std::vector{8});
  EXPECT_EQ(lcores[1]["jobs"], std::vector{7});
  EXPECT_EQ(lcores[1]["queues"], std::vector<std::string>{"right:0"});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto percent = [&] {
      const auto row = show.table("lcores")[i];
      return row["busy_percent"].get<double>() + row["idle_percent"].get<double>() +
             row["sleep_percent"].get<double>();
    };
    while (percent() == 0) std::this_thread::yield();  // until the loop's first turn
    EXPECT_NEAR(percent(), 100, 0.1);
  }
  const auto rxq = show.table("rxq");
  const config::NumaPlan& plan = sw.get().pools().plan();
  ASSERT_EQ(rxq.size(), 2u);
  EXPECT_EQ(rxq[0], (ordered_json{{"port", "left"},
                                  {"queue", 0},
                                  {"lcore", 0},
                                  {"cpu", nullptr},
                                  {"socket", socket_or_null(plan.machine.lcores[0])},
                                  {"port_socket", nullptr},
                                  {"buffers_socket", socket_or_null(plan.pools[0].socket)},
                                  {"far", false},
                                  {"packets", 0},
                                  {"bursts", 0},
                                  {"packets_per_burst", 0.0},
                                  {"steering", nullptr},
                                  {"rules", 0},
                                  {"device_says", nullptr}}));
  EXPECT_EQ(rxq[1]["lcore"], 1);
  const auto handover = show.table("handover");
  ASSERT_EQ(handover.size(), 2u);
  EXPECT_EQ(handover[1], (ordered_json{{"from", 1},
                                       {"to", 0},
                                       {"jobs", 0},
                                       {"jobs_full", 0},
                                       {"others", 0},
                                       {"others_full", 0},
                                       {"addresses", 0},
                                       {"addresses_lost", 0},
                                       {"groups", 0},
                                       {"groups_full", 0}}));
  EXPECT_EQ(show.table("stages 1").size(), dataplane::kStageCount);
}

TEST(ShowLcores, OneLcoreHasEverythingAndHandsNothingOver) {
  RunningSwitch sw;
  const auto lcores = show_lcores(sw.get());
  ASSERT_EQ(lcores.size(), 1u);
  EXPECT_TRUE(lcores[0]["cpu"].is_null());
  EXPECT_EQ(lcores[0]["queues"], (std::vector<std::string>{"left:0", "right:0"}));
  EXPECT_EQ(lcores[0]["jobs"], std::vector{7});
  EXPECT_TRUE(show_handover(sw.get()).empty());
  EXPECT_EQ(show_stages(sw.get(), "0").size(), show_stages(sw.get()).size());
  EXPECT_THROW(static_cast<void>(show_stages(sw.get(), "1")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(show_stages(sw.get(), "x")), std::invalid_argument);
}

// A request is such a call of the first stage; the ports are silent, so that `receive` only polls.
TEST(ShowLcores, StagesSayHowLongACallWithWorkTook) {
  RunningSwitch sw;
  EXPECT_FALSE(show_members(sw.get()).empty());
  ordered_json commands;
  do commands = show_stages(sw.get())[0];
  while (commands["max_us"] == 0.0);  // the loop answers before it has counted the call
  EXPECT_THAT(columns(commands),
              testing::ElementsAre("stage", "calls", "packets", "cycles", "idle_cycles",
                                   "cycles_per_packet", "share_percent", "p50_us", "p99_us",
                                   "max_us", "what"));
  EXPECT_EQ(commands["stage"], "commands");
  EXPECT_GT(commands["p50_us"], 0.0);
  EXPECT_LE(commands["p50_us"], commands["p99_us"]);
  EXPECT_LE(commands["p99_us"], commands["max_us"]);
  const auto receive = show_stages(sw.get(), "0")[2];
  EXPECT_EQ(receive["stage"], "receive");
  EXPECT_GT(receive["idle_cycles"], 0);
  EXPECT_EQ(receive["p99_us"], 0.0);
  EXPECT_EQ(receive["max_us"], 0.0);
}

// Tables of jobs have all of them, in the order of the file.
TEST(ShowLcores, JobsOfAllLcoresAreThere) {
  RunningSwitch sw(two_lcores());
  Show show(sw.get());
  const auto jobs = show.table("jobs");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0]["job"], 7);
  EXPECT_EQ(jobs[0]["lcore"], 1);
  EXPECT_EQ(jobs[1]["job"], 8);
  EXPECT_EQ(jobs[1]["name"], "other");
  EXPECT_EQ(jobs[1]["lcore"], 0);
  EXPECT_EQ(show.table("members").size(), 6u);
  EXPECT_EQ(show.table("members")[0]["job"], 7);
  EXPECT_EQ(show.table("completion").size(), 2u);
  EXPECT_EQ(show.table("holds").size(), 3u);
  EXPECT_EQ(show.table("stragglers 8").size(), 3u);
}

config::SwitchConfig with_planes() {
  auto config = two_lcores();
  config.jobs[0].planes = 2;
  config.jobs[0].lcores = {1, 0};
  config.jobs[1].lcore = 0;
  config.memory.reserve_megabytes = 8;
  return config;
}

// In the order of the planes, whatever lcores they are on.
TEST(ShowPlanes, HaveARowEach) {
  RunningSwitch sw(with_planes());
  Show show(sw.get());
  const auto jobs = show.table("jobs");
  ASSERT_EQ(jobs.size(), 3u);
  for (const std::size_t plane : {0u, 1u}) {
    EXPECT_EQ(jobs[plane]["job"], 7);
    EXPECT_EQ(jobs[plane]["plane"], plane);
    EXPECT_EQ(jobs[plane]["lcore"], 1 - plane);
  }
  EXPECT_EQ(jobs[2]["job"], 8);
  EXPECT_EQ(jobs[2]["plane"], 0);
  const auto lcores = show.table("lcores");
  EXPECT_EQ(lcores[0]["jobs"], (std::vector{7, 8}));
  EXPECT_EQ(lcores[0]["planes"], (std::vector{1, 0}));
  const auto members = show.table("members");
  ASSERT_EQ(members.size(), 9u);
  EXPECT_EQ(members[2]["plane"], 0);
  EXPECT_EQ(members[3]["plane"], 1);
  EXPECT_EQ(members[5]["rank"], 2);
  EXPECT_EQ(show.table("completion").size(), 3u);
  EXPECT_EQ(show.table("holds").size(), 4u);
  EXPECT_TRUE(show.table("holds 7").empty());
  EXPECT_EQ(show.table("stragglers 7").size(), 6u);
  EXPECT_THROW(static_cast<void>(show.table("op 7/1")), std::invalid_argument);
}

// Prometheus takes no two series with the same labels.
TEST(ShowPlanes, HaveSeriesOfTheirOwn) {
  RunningSwitch sw(with_planes());
  for (const auto& family : Metrics(sw.get()).Collect()) {
    std::set<std::string> seen;
    for (const auto& metric : family.metric) {
      std::string labels;
      bool of_seven = false;
      bool has_plane = false;
      for (const auto& label : metric.label) {
        labels.append(label.name).append("=").append(label.value).append(" ");
        of_seven = of_seven || (label.name == "job_id" && label.value == "7");
        has_plane = has_plane || label.name == "plane";
      }
      EXPECT_TRUE(seen.insert(labels).second) << family.name << " " << labels;
      EXPECT_EQ(has_plane, of_seven) << family.name << " " << labels;
    }
  }
}

TEST(ShowPlanes, ExclusionIsAskedOfEachPlane) {
  RunningSwitch sw(with_planes());
  try {
    exclude_rank(sw.get(), {7, 1, true, std::nullopt}, [](const std::string&) {});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "plane 0: rank 1 of job 7: the job has no running epoch");
  }
  try {
    exclude_rank(sw.get(), {8, 1, true, std::nullopt}, [](const std::string&) {});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "rank 1 of job 8: the job has no running epoch");
  }
}

TEST(ShowPlanes, AReloadMovesThem) {
  RunningSwitch sw(with_planes());
  auto next = with_planes();
  next.jobs[0].lcores = {0, 1};
  EXPECT_EQ(sw.get().apply(next).changed, std::vector<std::uint32_t>{7});
  const auto rows = Show(sw.get()).table("jobs");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["lcore"], 0);
  EXPECT_EQ(rows[0]["plane"], 0);
  EXPECT_EQ(rows[1]["lcore"], 1);
  next.jobs[0].planes = 1;
  next.jobs[0].lcores = {1};
  sw.get().apply(next);
  EXPECT_EQ(Show(sw.get()).table("jobs").size(), 2u);
  next.jobs[0].planes = 2;
  next.jobs[0].lcores = {};
  sw.get().apply(next);
  EXPECT_EQ(Show(sw.get()).table("jobs").size(), 3u);
}

TEST(ShowLcores, MetricsOfEachLcoreAndPair) {
  RunningSwitch sw(two_lcores());
  for (const auto& family : Metrics(sw.get()).Collect()) {
    if (family.name == "tributary_loop_turns_total") {
      EXPECT_EQ(family.metric.size(), 2u);
    }
    if (family.name == "tributary_handover_full_total") {
      EXPECT_EQ(family.metric.size(), 4u) << "each way, jobs and others";
    }
    if (family.name == "tributary_job_members") {
      EXPECT_EQ(family.metric.size(), 2u);
    }
    if (family.name.starts_with("tributary_handover_groups")) {
      EXPECT_EQ(family.metric.size(), 0u) << "it does not snoop";
    }
  }
}

TEST(ShowLcores, O1_GroupsGoToTheFirstLcoreAndBack) {
  auto config = two_lcores();
  config.lcores.push_back(-1);
  config.forwarding.snooping.enabled = true;
  RunningSwitch sw(config);
  std::size_t families = 0;
  for (const auto& family : Metrics(sw.get()).Collect()) {
    if (!family.name.starts_with("tributary_handover_groups")) continue;
    ++families;
    EXPECT_EQ(family.metric.size(), family.name.find("full") == std::string::npos ? 4u : 2u);
  }
  EXPECT_EQ(families, 2u);
  EXPECT_TRUE(Show(sw.get()).table("groups").empty());
}

TEST(ShowLcores, ReloadsJobsOfBothLcores) {
  auto config = two_lcores();
  config.memory.reserve_megabytes = 8;
  RunningSwitch sw(config);
  auto next = config;
  next.jobs[0].window = 32;
  next.jobs[1].lcore = 1;
  next.jobs.push_back(next.jobs[0]);
  next.jobs[2].id = 10;
  next.jobs[2].name = "third";
  const auto change = sw.get().apply(next);
  EXPECT_EQ(change.changed.size(), 2u);
  EXPECT_EQ(change.added.size(), 1u);
  const auto jobs = Show(sw.get()).table("jobs");
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[1]["lcore"], 1);
  EXPECT_EQ(jobs[2]["job"], 10);
  EXPECT_EQ(jobs[2]["lcore"], 0);
}

}  // namespace
}  // namespace tributary::control
