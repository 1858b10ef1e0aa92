// Elections by request, and what a switch shows of its hosts and of what it hosts (T10, T11).
#include "control/change/place_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/show/show.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using testing::HasSubstr;

// Root of job 7, with two hosts; a host of job 8, whose root is above.
config::SwitchConfig hosts_config() {
  config::SwitchConfig config = null_config();
  config.completion.hosts = {{"A", 0x0A4D0001, "left"}, {"B", 0x0A4D0002, "right"}};
  config.jobs[0].completion_hosts = {"A", "B", "root"};
  config.jobs[0].host_choice = config::HostChoice::two_stage;
  config::JobConfig below;
  below.id = 8;
  below.name = "below";
  below.workers = 3;
  below.shards = 2;
  below.children = {{false, 0, 0, "right", {0}}, {false, 1, 0, "right", {1}}};
  const auto mac = config::derived_mac(0x0A4D0063);
  below.parent = config::ParentConfig{"up", 99, 0x0A4D0063, mac, "left", 0, 2};
  below.hosting = config::HostingConfig{0x0A4D0063, mac};
  config.jobs.push_back(below);
  return config;
}

class ElectTest : public testing::Test {
 protected:
  RunningSwitch sw{hosts_config()};
  Show show{sw.get()};

  std::string refusal(const PlaceHostRequest& wish) {
    try {
      (void)place_hosts(sw.get(), wish);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(ElectTest, T11_NobodyLivesSoNobodyMoves) {
  const auto data = place_hosts(sw.get(), {7, {{"A", 3}}, {"B"}});
  EXPECT_EQ(data["moved"], 0);
  ASSERT_EQ(data["hosts"].size(), 1u);
  EXPECT_EQ(data["hosts"][0]["host"], "A");
  EXPECT_EQ(data["hosts"][0]["choice"], "two_stage");
  EXPECT_EQ(data["hosts"][0]["state"], "idle");
}

TEST_F(ElectTest, MistakesAreNamed) {
  EXPECT_EQ(refusal({9, {}, {}}), "job 9 is not configured here");
  EXPECT_THAT(refusal({8, {}, {}}), HasSubstr("job 8: its root places its completion hosts"));
  EXPECT_EQ(refusal({7, {{"C", 1}}, {}}), "job 7: has no completion host 'C'; allowed: A, B");
  EXPECT_THAT(refusal({7, {}, {"root"}}), HasSubstr("has no completion host 'root'"));
}

TEST_F(ElectTest, T10_ShowsWhoServesAndWhatIsHosted) {
  const auto hosts = show.table("hosts");
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0]["job"], 7);
  EXPECT_EQ(hosts[0]["chosen"], "policy");
  EXPECT_TRUE(hosts[0]["silent_ms"].is_null());
  const auto seats = show.table("seats");
  ASSERT_EQ(seats.size(), 2u);
  EXPECT_EQ(seats[1]["job"], 8);
  EXPECT_EQ(seats[1]["shard"], 1);
  EXPECT_EQ(seats[1]["serving"], false);
  EXPECT_EQ(seats[1]["completions"], 0);
}

}  // namespace
}  // namespace tributary::control
