// A packet loop that is late for a change of the configuration: readers leave out what it has, with
// a note, until it has taken the change.
#include "control/text/late_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "control/change/exclude.h"
#include "control/metrics/metrics.h"
#include "control/show/show.h"
#include "control/text/show_text.h"
#include "tests/control/running_switch.h"
#include "tests/control/stopped_loop.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// It answers behind all that waits for it.
void wait_for(dataplane::PacketLoop& packet_loop) {
  on_loop(packet_loop, [](dataplane::PacketLoop&, Instant) { return 0; });
}

// A loop that stops when all have said that they answer, and before its part of the change is in
// its mailbox: until then the test holds the configuration, which the change waits for.
class LateChange {
 public:
  LateChange(dataplane::Switch& sw, std::size_t lcore, const config::SwitchConfig& next) {
    auto held = sw.hold();
    const dataplane::PacketLoop& last = sw.packet_loops()[sw.packet_loops().size() - 1];
    // What it was asked before is counted by the end of the turn.
    for (const auto turn = last.counters().turns.get(); last.counters().turns.get() < turn + 2;)
      std::this_thread::yield();
    const std::uint64_t before = requests(last);
    auto applied = std::async(std::launch::async, [&] { return sw.apply(next, Duration()); });
    while (requests(last) == before && !is_over(applied)) std::this_thread::yield();
    stopped_.emplace(sw.packet_loops()[lcore], [] { return true; });
    stopped_->wait();
    held.unlock();
    change = applied.get();
    // The others take theirs, for which no thread has waited.
    for (const auto& packet_loop : sw.packet_loops())
      if (packet_loop->lcore() != lcore) wait_for(*packet_loop);
  }
  void go_on() { stopped_->go_on(); }

  config::Change change;

 private:
  static bool is_over(const std::future<config::Change>& applied) {
    return applied.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  static std::uint64_t requests(const dataplane::PacketLoop& packet_loop) {
    return packet_loop.stages()[static_cast<std::size_t>(dataplane::Stage::commands)].packets.get();
  }

  std::optional<StoppedLoop> stopped_;
};

config::JobConfig job(std::uint32_t id, std::uint16_t lcore) {
  config::JobConfig job = null_config().jobs.front();
  job.id = id;
  job.name = "job" + std::to_string(id);
  job.lcore = lcore;
  return job;
}

// Jobs 7 and 6 on lcore 1, 8 on lcore 0. No loop sleeps: each looks at its requests at once.
config::SwitchConfig before() {
  config::SwitchConfig config = null_config();
  config.lcores = {-1, -1};
  config.idle_sleep_max = Duration();
  config.memory.reserve_megabytes = 16;
  config.forwarding.lldp.enabled = true;
  config.jobs = {job(7, 1), job(6, 1), job(8, 0)};
  config.jobs[0].shards = 2;
  return config;
}

// Each loop has other jobs, and of the same job other shards and ranks. LLDP goes, too.
config::SwitchConfig after() {
  config::SwitchConfig config = before();
  config.forwarding.lldp.enabled = false;
  config.jobs = {job(8, 0), job(9, 1), job(7, 1), job(5, 1), job(10, 0)};
  config.jobs[1].shards = 4;
  config.jobs[2].workers = 2;
  return config;
}

const std::vector<std::string> kOfLoops = {
    "jobs",       "members",    "tree",       "slots",  "holds", "holds all",
    "completion", "escalated",  "hosts",      "seats",  "acl",   "lldp",
    "rxq",        "stragglers", "neighbours", "lcores", "qps",   "names"};
const std::vector<std::string> kOfTheFirst = {"fdb", "groups", "vlans"};
const std::vector<std::string> kOfNobody = {"ports",    "buffers",   "drops",  "stages",
                                            "handover", "fragments", "config", "routes",
                                            "stages 0", "stages 1"};

class LateLoopsTimed : public testing::Test {
 protected:
  std::vector<int> column(const std::string& table, const char* name = "job") {
    std::vector<int> out;
    for (const auto& row : show.table(table))
      if (row[name].is_number()) out.push_back(row[name]);
    return out;
  }
  std::set<int> jobs_in(const std::string& table) {
    const std::vector<int> all = column(table);
    return {all.begin(), all.end()};
  }
  std::map<std::string, prometheus::MetricFamily> scrape() {
    std::map<std::string, prometheus::MetricFamily> out;
    for (auto& family : Metrics(sw->get()).Collect()) out[family.name] = std::move(family);
    return out;
  }
  static std::set<std::string> labels_of(const prometheus::MetricFamily& family,
                                         const std::string& label) {
    std::set<std::string> out;
    for (const auto& metric : family.metric)
      for (const auto& [name, value] : metric.label)
        if (name == label) out.insert(value);
    return out;
  }
  template <typename Ask>
  static std::string refusal_of(Ask ask) {
    try {
      ask();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "none";
  }
  void look_at_all() {
    for (const auto* tables : {&kOfLoops, &kOfTheFirst, &kOfNobody})
      for (const std::string& table : *tables) (void)show.answer(table);
    (void)scrape();
  }

  std::optional<RunningSwitch> sw{std::in_place, before()};
  Show show{sw->get()};
};

TEST_F(LateLoopsTimed, O1_ShowLeavesOutWhatALateLoopHasAndSaysSo) {
  LateChange late(sw->get(), 1, after());
  EXPECT_THAT(late.change.late, HasSubstr("did not answer"));
  const auto of_one =
      ElementsAre(testing::AllOf(StartsWith("lcore 1 has not come to the change of "),
                                 testing::EndsWith(" yet: what it has is not shown")));
  for (const std::string& table : kOfLoops) EXPECT_THAT(show.answer(table).notes, of_one) << table;
  for (const auto* tables : {&kOfTheFirst, &kOfNobody})
    for (const std::string& table : *tables)
      EXPECT_THAT(show.answer(table).notes, IsEmpty()) << table;
  for (const char* table : {"jobs", "members", "tree", "holds", "completion", "stragglers"})
    EXPECT_EQ(jobs_in(table), (std::set<int>{8, 10})) << table;
  const auto lcores = show.table("lcores");
  EXPECT_EQ(lcores[0]["late"], false);
  EXPECT_EQ(lcores[0]["jobs"], nlohmann::ordered_json({8, 10}));
  EXPECT_EQ(lcores[1]["late"], true);
  EXPECT_EQ(lcores[1]["jobs"], nlohmann::ordered_json::array());
  for (const char* table : {"holds 7", "stragglers 9", "op 5/1"})
    EXPECT_THAT(refusal_of([&] { (void)show.table(table); }),
                StartsWith("lcore 1 has not come to the change of "))
        << table;
  EXPECT_TRUE(show.table("holds 8").empty());

  late.go_on();
  wait_for(sw->get().packet_loops()[1]);
  for (const auto* tables : {&kOfLoops, &kOfTheFirst, &kOfNobody})
    for (const std::string& table : *tables)
      EXPECT_THAT(show.answer(table).notes, IsEmpty()) << table;
  EXPECT_THAT(column("jobs"), ElementsAre(8, 9, 7, 5, 10));
  EXPECT_THAT(column("jobs", "workers"), ElementsAre(3, 3, 2, 3, 3));
  for (const char* table : {"members", "tree", "holds", "completion", "stragglers"})
    EXPECT_EQ(jobs_in(table), (std::set<int>{5, 7, 8, 9, 10})) << table;
  EXPECT_EQ(show.table("lcores")[1]["jobs"], nlohmann::ordered_json({9, 7, 5}));
  EXPECT_EQ(show.table("lcores")[1]["late"], false);
  EXPECT_EQ(sw->get().apply(after()).late, "");
}

// Series of its jobs, and sums that would go down without it.
TEST_F(LateLoopsTimed, O1_MetricsLeaveOutWhatALateLoopHasAndSaySo) {
  const auto late_ones = [](const std::map<std::string, prometheus::MetricFamily>& all) {
    std::vector<double> out;
    for (const auto& metric : all.at("tributary_loop_late").metric)
      out.push_back(metric.gauge.value);
    return out;
  };
  const auto before = scrape();
  EXPECT_THAT(late_ones(before), ElementsAre(0, 0));
  LateChange late(sw->get(), 1, after());
  const auto during = scrape();
  EXPECT_THAT(late_ones(during), ElementsAre(0, 1));
  EXPECT_EQ(during.size(), before.size()) << "each family is there";
  for (const char* name : {"job_members", "shard_slots_open", "shard_slot_hold_seconds",
                           "child_missed_deadlines_total", "completion_bytes_held"})
    EXPECT_EQ(labels_of(during.at(std::string("tributary_") + name), "job_id"),
              (std::set<std::string>{"8", "10"}))
        << name;
  const std::vector<std::string> sums = {"aggregation_memory_bytes", "completion_memory_bytes",
                                         "slot_hold_seconds",        "acl_hits_total",
                                         "lldp_neighbours",          "lldp_events_total"};
  for (const std::string& name : sums)
    EXPECT_TRUE(during.at("tributary_" + name).metric.empty()) << name;
  EXPECT_EQ(during.at("tributary_loop_turns_total").metric.size(), 2u);

  late.go_on();
  wait_for(sw->get().packet_loops()[1]);
  const auto again = scrape();
  EXPECT_THAT(late_ones(again), ElementsAre(0, 0));
  EXPECT_EQ(labels_of(again.at("tributary_job_members"), "job_id"),
            (std::set<std::string>{"5", "7", "8", "9", "10"}));
  for (const std::string& name : sums)
    EXPECT_FALSE(again.at("tributary_" + name).metric.empty()) << name;
}

// It keeps the addresses and the groups that are shown.
TEST_F(LateLoopsTimed, O1_WhatTheFirstLoopKeepsForAllIsLeftOutWhileItIsLate) {
  LateChange late(sw->get(), 0, after());
  for (const auto* tables : {&kOfLoops, &kOfTheFirst})
    for (const std::string& table : *tables)
      EXPECT_THAT(show.answer(table).notes, ElementsAre(StartsWith("lcore 0 has not come")))
          << table;
  EXPECT_EQ(show.table("fdb").size(), 1u) << "what the configuration says";
  EXPECT_EQ(show.table("vlans").size(), 1u);
  EXPECT_EQ(jobs_in("members"), (std::set<int>{5, 7, 9}));
  EXPECT_EQ(labels_of(scrape().at("tributary_job_members"), "job_id"),
            (std::set<std::string>{"5", "7", "9"}));
}

// A request that would have to wait for it holds up no other.
TEST_F(LateLoopsTimed, WhatNeedsALateLoopIsRefusedAtOnce) {
  LateChange late(sw->get(), 1, after());
  EXPECT_THAT(refusal_of([&] {
                exclude_rank(sw->get(), {7, 1, true, std::nullopt}, [](const std::string&) {});
              }),
              testing::AllOf(HasSubstr("lcore 1 has not come to"), HasSubstr("try again")));
  EXPECT_THAT(refusal_of([&] {
                exclude_rank(sw->get(), {8, 1, true, std::nullopt}, [](const std::string&) {});
              }),
              HasSubstr("the job has no running epoch"));
}

// For ThreadSanitizer, too: neither when it falls behind nor when it catches up is anything looked
// at that it exchanges.
TEST_F(LateLoopsTimed, Rule16_WhoLooksWhileALoopIsLateDisturbsNobody) {
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over.load()) try {
        look_at_all();
      } catch (const std::runtime_error&) {
        // The loop has stopped, and its part of the change has yet to be posted.
      }
  });
  std::thread scraper([&] {
    while (!over.load()) (void)scrape();
  });
  for (std::size_t round = 0; round < 6; ++round) {
    const config::SwitchConfig next = round % 2 == 0 ? after() : before();
    LateChange late(sw->get(), round % 3 == 0 ? 0 : 1, next);
    EXPECT_NE(late.change.late, "");
    look_at_all();
    late.go_on();
    look_at_all();
    EXPECT_EQ(sw->get().apply(next).late, "");
  }
  over.store(true);
  reader.join();
  scraper.join();
}

// All that was replaced goes back to who it came from, before that goes: jobs that came with a
// change have memory of their engine's reserve. For AddressSanitizer.
TEST_F(LateLoopsTimed, ASwitchEndsWithAChangeThatALoopWasLateFor) {
  ASSERT_EQ(sw->get().apply(after()).late, "");
  LateChange late(sw->get(), 1, before());
  late.go_on();
  wait_for(sw->get().packet_loops()[1]);
  sw.reset();
}

TEST_F(LateLoopsTimed, ASwitchEndsWithAChangeThatALoopIsLateFor) {
  ASSERT_EQ(sw->get().apply(after()).late, "");
  LateChange late(sw->get(), 1, before());
  // It takes its part of the change, or ends before.
  auto woken = std::async(std::launch::async, [&] { late.go_on(); });
  sw.reset();
  woken.get();
}

}  // namespace
}  // namespace tributary::control
