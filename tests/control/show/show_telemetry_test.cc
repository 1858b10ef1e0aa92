// `show telemetry` and its metrics (C5, C6).
#include "control/show/show_telemetry.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "control/metrics/telemetry_metrics.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

std::set<std::string> sampled_families(dataplane::Switch& sw) {
  Families families;
  families.reserve(8);
  collect_telemetry(families, sw);
  std::set<std::string> names;
  for (const auto& family : families)
    if (!family.metric.empty()) names.insert(family.name);
  return names;
}

TEST(ShowTelemetry, C5_CountersOfEachLoopAndTheNumbersOfPorts) {
  auto config = null_config();
  config.telemetry.node_id = 7;
  config.telemetry.report_to = "127.0.0.1:9";
  config.telemetry.ports = {{"right", true, 25'000}};
  RunningSwitch sw(config);
  const auto loops = show_telemetry(sw.get(), "");
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].dump(),
            R"({"lcore":0,"sampled":0,"inserted":0,"hops_added":0,"stripped":0,"untrusted":0,)"
            R"("malformed":0,"no_space":0,"unstripped":0,"watched":0,"traces":0,"traces_full":0,)"
            R"("traces_malformed":0,"probes_lost":0,"reports":0,"reports_lost":0,)"
            R"("datagrams":0,"refused":0})");
  const auto ports = show_telemetry(sw.get(), "ports");
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].dump(),
            R"({"port":"left","node":7,"id":0,"trusted":false,"mbps":null,"paths":[]})");
  EXPECT_EQ(ports[1].dump(),
            R"({"port":"right","node":7,"id":1,"trusted":true,"mbps":25000,"paths":[]})");
  EXPECT_THROW(show_telemetry(sw.get(), "links"), std::invalid_argument);
  EXPECT_EQ(sampled_families(sw.get()).size(), 6u);
}

TEST(ShowTelemetry, WhereItIsOffThereIsNothing) {
  RunningSwitch sw;
  EXPECT_TRUE(show_telemetry(sw.get(), "").empty());
  EXPECT_TRUE(show_telemetry(sw.get(), "ports").empty());
  EXPECT_TRUE(sampled_families(sw.get()).empty());
}

}  // namespace
}  // namespace tributary::control
