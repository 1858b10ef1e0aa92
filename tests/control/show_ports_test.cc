// Ports that a reload brings and takes, as operators see them: a real switch with its loop running.
#include <gmock/gmock.h>
#include <prometheus/metric_family.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "config/load.h"
#include "control/metrics.h"
#include "control/show.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ShowPortsTest : public testing::Test {
 protected:
  std::vector<std::string> names(const std::string& table) {
    std::vector<std::string> out;
    for (const auto& row : show.table(table)) out.push_back(row["port"]);
    return out;
  }
  // Ports that the metrics have.
  std::set<std::string> measured() {
    std::set<std::string> out;
    for (const auto& family : Metrics(sw.get()).Collect())
      for (const auto& metric : family.metric)
        for (const auto& label : metric.label)
          if (label.name == "port") out.insert(label.value);
    return out;
  }
  std::string refusal(const config::SwitchConfig& next) {
    try {
      sw.get().apply(next);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }

  config::SwitchConfig file = null_config();
  RunningSwitch sw{file};
  Show show{sw.get()};
};

TEST_F(ShowPortsTest, O1_ShowAndMetricsHaveThePortsThatAreThere) {
  file.ports.push_back({"third", "net_null2,no-rx=1", 1500});
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: port third added");
  EXPECT_THAT(names("ports"), ElementsAre("left", "right", "third"));
  EXPECT_THAT(names("rxq"), ElementsAre("left", "right", "third"));
  EXPECT_THAT(measured(), ElementsAre("left", "right", "third"));
  EXPECT_EQ(show.table("config"), config::dump(file));

  file.ports.erase(file.ports.begin());
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: port left removed");
  EXPECT_THAT(names("ports"), ElementsAre("right", "third"));
  EXPECT_THAT(names("rxq"), ElementsAre("right", "third"));
  EXPECT_THAT(measured(), ElementsAre("right", "third"));
  EXPECT_EQ(show.table("config"), config::dump(file));

  // Its device can be had again, under another name; it comes to the place that is free.
  file.ports.push_back({"new", "net_null0,no-rx=1", 1500});
  sw.get().apply(file);
  EXPECT_THAT(names("ports"), ElementsAre("new", "right", "third"));
  file.ports.back().name = "uplink";
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: port new is called uplink");
  EXPECT_THAT(names("ports"), ElementsAre("uplink", "right", "third"));
  EXPECT_THAT(measured(), ElementsAre("right", "third", "uplink"));
  EXPECT_TRUE(sw.get().apply(file).empty());
}

TEST_F(ShowPortsTest, O1_WhatCannotBeIsRefusedWhole) {
  const auto before = file;
  file.ports.push_back({"third", "net_null1,no-rx=1", 1500});
  EXPECT_THAT(refusal(file), HasSubstr("port right has a device of that name"));
  file.ports.back() = {"third", "net_nothing7", 1500};
  EXPECT_THAT(refusal(file), HasSubstr("port third (net_nothing7): "));
  file.ports.back() = {"third", "net_null2,no-rx=1", 9100};
  EXPECT_THAT(refusal(file), HasSubstr("packet buffers have"));
  file.ports.back() = {"third", "net_null2,no-rx=1", 1500};
  file.ports.back().queues = 16;
  file.ports.push_back({"fourth", "net_null3,no-rx=1", 1500});
  file.ports.back().queues = 16;
  EXPECT_THAT(refusal(file), HasSubstr("switch.memory.spare_queues"));
  // Opened before another of the same file could not be.
  file.ports = before.ports;
  file.ports.push_back({"third", "net_null2,no-rx=1", 1500});
  file.ports.push_back({"fourth", "net_nothing7", 1500});
  EXPECT_THAT(refusal(file), HasSubstr("port fourth (net_nothing7): "));
  EXPECT_TRUE(sw.get().apply(before).empty());
  EXPECT_THAT(names("ports"), ElementsAre("left", "right"));
  file.ports.pop_back();
  sw.get().apply(file);
  EXPECT_THAT(names("ports"), ElementsAre("left", "right", "third"));
}

}  // namespace
}  // namespace tributary::control
