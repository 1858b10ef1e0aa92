// A4: jobs that ranks open come and go beside the file, and beside what is set in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/load/load.h"
#include "config/topology/open_job.h"
#include "control/change/running_config.h"

namespace tributary::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr config::BufferRoom kRoom = {2048, 8192};

std::string file(const std::string& ids, const std::string& jobs = "[{id: 1, workers: 2}]") {
  return "switch: {address: 10.77.0.254, open_jobs: {ids: " + ids +
         "}}\nports: [{name: a, devargs: net_null0}]\njobs: " + jobs + "\n";
}

class OpenConfigTest : public testing::Test {
 protected:
  std::string text = file("1000-1999");
  config::SwitchConfig in_force = config::parse_switch_config(text, "f.yaml");
  bool refuses = false;
  std::string kept = "nothing";
  RunningConfig running{
      config::parse_document(text, "f.yaml", ""),
      {.read = [this] { return text; },
       .compare = [this](const auto& next) { return config::difference(in_force, next, kRoom); },
       .apply =
           [this](const auto& next) {
             if (refuses) throw std::runtime_error("no memory");
             auto change = config::difference(in_force, next, kRoom);
             in_force = next;
             return change;
           },
       .keep_overrides = [this](const std::string& what) { kept = what; }}};

  void open(std::uint32_t id) {
    running.open([&](const config::SwitchConfig& now, std::vector<config::JobConfig>& jobs) {
      jobs.push_back(config::open_below(now.open_jobs, id, {2, 1, 64, 1024}, 0));
    });
  }
  std::vector<std::uint32_t> ids() const {
    std::vector<std::uint32_t> all;
    for (const auto& job : in_force.jobs) all.push_back(job.id);
    return all;
  }
};

TEST_F(OpenConfigTest, A4_TheyComeAndGoAndNoRestartKnowsThem) {
  open(1000);
  open(1001);
  EXPECT_THAT(ids(), ElementsAre(1, 1000, 1001));
  running.open([](const config::SwitchConfig& now, std::vector<config::JobConfig>& jobs) {
    EXPECT_EQ(now.jobs.size(), 3u);
    std::erase_if(jobs, [](const auto& job) { return job.id == 1000; });
  });
  EXPECT_THAT(ids(), ElementsAre(1, 1001));
  EXPECT_TRUE(running.overrides().empty());
  EXPECT_EQ(kept, "nothing");
}

TEST_F(OpenConfigTest, A4_TheyLiveThroughReloadAndSet) {
  open(1000);
  running.reload();
  EXPECT_THAT(ids(), ElementsAre(1, 1000));
  running.set({.values = {{"jobs.1.deadline", "5s"}}});
  EXPECT_THAT(ids(), ElementsAre(1, 1000));
  EXPECT_THROW(running.set({.values = {{"jobs.1000.deadline", "5s"}}}), std::exception);
}

TEST_F(OpenConfigTest, A4_AReloadEndsThoseThatHaveNoPlaceAnyMore) {
  open(1000);
  open(1001);
  text = file("1001-1999");
  running.reload();
  EXPECT_THAT(ids(), ElementsAre(1, 1001));
  text = file("1000-1999", "[{id: 1001, workers: 3}]");
  running.reload();
  EXPECT_THAT(ids(), ElementsAre(1001));
  EXPECT_FALSE(in_force.jobs[0].open);
  text = file("1000-1999", "[]");
  running.reload();
  EXPECT_THAT(ids(), ElementsAre()) << "it does not come back";
}

TEST_F(OpenConfigTest, A4_WhatTheSwitchRefusesIsNotThere) {
  refuses = true;
  EXPECT_THROW(open(1000), std::runtime_error);
  refuses = false;
  running.reload();
  EXPECT_THAT(ids(), ElementsAre(1));
}

}  // namespace
}  // namespace tributary::control
