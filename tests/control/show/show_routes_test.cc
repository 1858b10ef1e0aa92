// `show routes`, `show neighbours` and their metrics.
#include "control/show/show_routes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "control/metrics/forwarding_metrics.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowRoutes, O12_WhoIsBehindARouterAndWhetherItAnswers) {
  auto config = null_config();
  config.routes = {{{0x0A4E0000, 16}, 0x0A4D0001, "left"}, {{0x0A4E0100, 24}, std::nullopt, ""}};
  RunningSwitch sw(config);
  const auto routes = show_routes(sw.get());
  ASSERT_EQ(routes.size(), 2u);
  EXPECT_EQ(routes[0].dump(), R"({"to":"10.78.0.0/16","via":"10.77.0.1","port":"left"})");
  EXPECT_EQ(routes[1].dump(), R"({"to":"10.78.1.0/24","via":"on the link","port":null})");
  const auto routers = show_neighbours(sw.get());
  ASSERT_EQ(routers.size(), 1u);
  EXPECT_EQ(routers[0]["address"], "10.77.0.1");
  EXPECT_EQ(routers[0]["port"], "left");
  EXPECT_EQ(routers[0]["state"], "asking");
  EXPECT_TRUE(routers[0]["mac"].is_null());
  EXPECT_TRUE(routers[0]["age_ms"].is_null());
  EXPECT_EQ(routers[0]["answers"], 0u);
  Families families;
  collect_forwarding(families, sw.get());
  std::set<std::string> events;
  for (const auto& family : families)
    for (const auto& metric : family.metric)
      for (const auto& label : metric.label)
        if (family.name == "tributary_next_hop_events_total" && label.name == "event")
          events.insert(label.value);
  EXPECT_EQ(events, (std::set<std::string>{"asked", "answered", "moved", "unasked", "lost"}));
}

}  // namespace
}  // namespace tributary::control
