// `show fdb` and `show vlans`.
#include "control/show/show_fdb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

class ShowFdb : public testing::Test {
 protected:
  RunningSwitch sw;
};

TEST_F(ShowFdb, FdbShowsStaticAddresses) {
  const auto table = show_fdb(sw.get(), "");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0]["mac"], "02:00:00:00:00:09");
  EXPECT_EQ(table[0]["port"], "right");
  EXPECT_EQ(table[0]["kind"], "static");
}

TEST_F(ShowFdb, FdbOfAVlanAndAPort) {
  EXPECT_EQ(show_fdb(sw.get(), "port=right").size(), 1u);
  EXPECT_EQ(show_fdb(sw.get(), "port=left").size(), 0u);
  EXPECT_EQ(show_fdb(sw.get(), "vlan=7 port=right").size(), 1u);  // a static one is in all of them
  for (const char* wrong : {"port=up", "vlan=4096", "vlan=x", "mac=1", "vlan="})
    EXPECT_THROW((void)show_fdb(sw.get(), wrong), std::invalid_argument) << wrong;
}

// The rest of a large table is a count, and what to type to see it.
TEST(ShowFdbLimit, RowsBeyondTheLimitAreCounted) {
  constexpr std::size_t kMost = 16384;
  config::SwitchConfig config = null_config();
  config.forwarding.static_macs.clear();
  for (std::size_t i = 0; i < kMost + 3; ++i)
    config.forwarding.static_macs.push_back(
        {{2, 0, 0, 1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)},
         i == 0 ? "left" : "right"});
  RunningSwitch sw(config);
  const auto table = show_fdb(sw.get(), "");
  ASSERT_EQ(table.size(), kMost + 1);
  EXPECT_EQ(table[kMost - 1]["kind"], "static");
  EXPECT_TRUE(table[kMost]["mac"].is_null());
  EXPECT_EQ(table[kMost]["kind"], "3 more: choose with vlan= or port=");
  EXPECT_EQ(show_fdb(sw.get(), "port=left").size(), 1u);
  EXPECT_EQ(show_fdb(sw.get(), "port=right").size(), kMost + 1);
}

TEST_F(ShowFdb, O1_VlansWithTheSamePortsAreOneRow) {
  const auto table = show_vlans(sw.get());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].dump(), R"({"vlan":0,"to":4095,"access":[],"trunk":[],"native":[],)"
                             R"("transparent":["left","right"],"addresses":0})");
}

TEST(ShowVlans, O1_ARowSaysWhichPortsAVlanHasAndHow) {
  config::SwitchConfig config = null_config();
  config.ports[0].vlan = {.mode = config::VlanMode::access, .id = 10, .allowed = {}, .native = {}};
  config.ports[1].vlan = {
      .mode = config::VlanMode::trunk, .id = {}, .allowed = {{10, 12}}, .native = 20};
  RunningSwitch sw(config);
  const auto table = show_vlans(sw.get());
  EXPECT_EQ(table, ordered_json::parse(R"([
      {"vlan": 10, "to": null, "access": ["left"], "trunk": ["right"], "native": [],
       "transparent": [], "addresses": 0},
      {"vlan": 11, "to": 12, "access": [], "trunk": ["right"], "native": [],
       "transparent": [], "addresses": 0},
      {"vlan": 20, "to": null, "access": [], "trunk": [], "native": ["right"],
       "transparent": [], "addresses": 0}])"));
}

}  // namespace
}  // namespace tributary::control
