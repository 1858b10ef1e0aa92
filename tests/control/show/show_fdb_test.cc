// `show fdb` and `show vlans`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/show/show.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

class ShowFdb : public testing::Test {
 protected:
  RunningSwitch sw;
  Show show{sw.get()};
};

TEST_F(ShowFdb, FdbShowsStaticAddresses) {
  const auto table = show.table("fdb");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0]["mac"], "02:00:00:00:00:09");
  EXPECT_EQ(table[0]["port"], "right");
  EXPECT_EQ(table[0]["kind"], "static");
}

TEST_F(ShowFdb, FdbOfAVlanAndAPort) {
  EXPECT_EQ(show.table("fdb port=right").size(), 1u);
  EXPECT_EQ(show.table("fdb port=left").size(), 0u);
  EXPECT_EQ(show.table("fdb vlan=7 port=right").size(), 1u);  // a static one is in all of them
  for (const char* wrong : {"fdb port=up", "fdb vlan=4096", "fdb vlan=x", "fdb mac=1", "fdb vlan="})
    EXPECT_THROW((void)show.table(wrong), std::invalid_argument) << wrong;
}

TEST_F(ShowFdb, O1_VlansWithTheSamePortsAreOneRow) {
  const auto table = show.table("vlans");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0], (ordered_json{{"vlan", "0-4095"},
                                    {"access", "-"},
                                    {"trunk", "-"},
                                    {"native", "-"},
                                    {"transparent", "left,right"},
                                    {"addresses", 0}}));
}

TEST(ShowVlans, O1_ARowSaysWhichPortsAVlanHasAndHow) {
  config::SwitchConfig config = null_config();
  config.ports[0].vlan = {.mode = config::VlanMode::access, .id = 10, .allowed = {}, .native = {}};
  config.ports[1].vlan = {
      .mode = config::VlanMode::trunk, .id = {}, .allowed = {{10, 12}}, .native = 20};
  RunningSwitch sw(config);
  const auto table = Show(sw.get()).table("vlans");
  const auto row = [](const char* vlan, const char* access, const char* trunk, const char* native) {
    return ordered_json{{"vlan", vlan},     {"access", access},   {"trunk", trunk},
                        {"native", native}, {"transparent", "-"}, {"addresses", 0}};
  };
  EXPECT_EQ(table,
            ordered_json::array({row("10", "left", "right", "-"), row("11-12", "-", "right", "-"),
                                 row("20", "-", "-", "right")}));
}

}  // namespace
}  // namespace tributary::control
