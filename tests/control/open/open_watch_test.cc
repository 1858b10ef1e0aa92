// A4: what a packet loop notes reaches the running switch, what lacks reaches the loop, and a job
// whose members are silent ends.
#include "control/open/open_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "config/topology/open_job.h"
#include "control/metrics/metrics.h"
#include "control/show/show.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using aggregator::OpenRequest;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::Reason;

constexpr wire::OpenJob kTask{2, 1, 32, 1024};
constexpr std::chrono::seconds kPatience(50);

config::SwitchConfig file(Duration lease) {
  config::SwitchConfig config = null_config();
  config.open_jobs.ids = {1000, 1009};
  config.open_jobs.jobs = 1;
  config.open_jobs.megabytes = 8;
  config.memory.reserve_megabytes = 8;
  config.open_jobs.lease = lease;
  return config;
}

class OpenWatchTestTimed : public testing::Test {
 protected:
  explicit OpenWatchTestTimed(Duration lease = Duration::seconds(3600)) : own(file(lease)) {}
  // As RunningConfig does it.
  void change(const RunningConfig::OpenEdit& edit) {
    std::vector<config::JobConfig> open;
    const config::SwitchConfig now = sw.get().config();
    for (const auto& job : now.jobs)
      if (job.open) open.push_back(job);
    const auto before = open;
    edit(now, open);
    if (open == before) return;
    if (lacks_memory) throw std::runtime_error("no memory in one piece");
    sw.get().apply(config::with_open(own, open));
  }
  aggregator::JoinRefusal ask(std::uint32_t job, const wire::OpenJob& task = kTask) {
    return desk.ask({.job = job, .task = task});
  }
  // Until a line has `text`; asks again and again, as ranks do.
  void ask_until(const std::string& text, std::uint32_t job) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      ask(job);
      std::unique_lock lock(mutex);
      if (changed.wait_for(lock, std::chrono::milliseconds(20),
                           [&] { return lines.find(text) != std::string::npos; }))
        return;
    }
    ADD_FAILURE() << "no line has '" << text << "': " << lines;
  }
  // Asks until it is refused.
  aggregator::JoinRefusal refusal_of(std::uint32_t job) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    aggregator::JoinRefusal said;
    while (said.why == Reason::none && std::chrono::steady_clock::now() < end) {
      said = ask(job);
      std::this_thread::yield();
    }
    return said;
  }
  std::vector<std::uint32_t> open_jobs() {
    std::vector<std::uint32_t> ids;
    for (const auto& row : Show(sw.get()).table("jobs"))
      if (row["open"] == true) ids.push_back(row["job"]);
    return ids;
  }
  static constexpr const char* kOpened =
      "job 1000 is opened by a rank: units 2, nodes 1, window 32, chunk_bytes 1024\n";
  double metric(const std::string& name) {
    for (const auto& family : Metrics(sw.get()).Collect())
      if (family.name == name) return family.metric.at(0).counter.value;
    ADD_FAILURE() << name;
    return -1;
  }

  const config::SwitchConfig own;
  std::mutex mutex;
  std::condition_variable changed;
  std::string lines;
  std::atomic<bool> lacks_memory = false;
  EventLog log{[this](LogLevel, const std::string& line) {
    const std::lock_guard lock(mutex);
    lines += line + "\n";
    changed.notify_all();
  }};
  RunningSwitch sw{own};
  aggregator::OpenDesk& desk = sw.get().packet_loops().open_desk();
  OpenWatch watch{sw.get(), Tell(log), [this](const auto& edit) { change(edit); }};
};

TEST_F(OpenWatchTestTimed, A4_AJobIsAddedBesideThoseOfTheFile) {
  EXPECT_THAT(open_jobs(), IsEmpty());
  ask_until(kOpened, 1000);
  EXPECT_THAT(open_jobs(), ElementsAre(1000));
  EXPECT_EQ(Show(sw.get()).table("jobs").size(), 2u);
  EXPECT_EQ(metric("tributary_open_jobs_opened_total"), 1);
  EXPECT_EQ(metric("tributary_open_jobs_refused_total"), 0);
}

TEST_F(OpenWatchTestTimed, A4_WhatLacksIsSaidToTheLoopWithFigures) {
  ask_until(kOpened, 1000);
  const aggregator::JoinRefusal said = refusal_of(1001);
  EXPECT_EQ(said, aggregator::open_refused(wire::OpenLimit::jobs, own.id, 2, 1));
  EXPECT_GE(metric("tributary_open_jobs_refused_total"), 1);
  ask_until("job 1001 is not opened: with it there would be 2 jobs", 1001);
}

TEST_F(OpenWatchTestTimed, A4_ASwitchThatCannotTakeItSaysWhyInItsLog) {
  lacks_memory = true;
  EXPECT_EQ(refusal_of(1000), aggregator::open_refused(wire::OpenLimit::other, own.id, 0, 0));
  ask_until("job 1000 is not opened: no memory in one piece", 1000);
  EXPECT_THAT(open_jobs(), IsEmpty());
}

class ShortLeaseTestTimed : public OpenWatchTestTimed {
 protected:
  ShortLeaseTestTimed() : OpenWatchTestTimed(Duration::ms(300)) {}
};

TEST_F(ShortLeaseTestTimed, A4_AJobWithoutMembersEndsAndLeavesItsPlace) {
  ask_until(kOpened, 1000);
  ask_until("job 1000, which a rank opened, ends: its members were silent for 300ms", 1001);
  ask_until("job 1001 is opened", 1001);
  EXPECT_GE(metric("tributary_open_jobs_expired_total"), 1);
}

}  // namespace
}  // namespace tributary::control
