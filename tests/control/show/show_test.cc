#include "control/show/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "config/load/load.h"
#include "control/metrics/metrics.h"
#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

class ShowTestTimed : public testing::Test {
 protected:
  RunningSwitch sw;
  Show show{sw.get()};
};

TEST_F(ShowTestTimed, EveryTableIsAListOfFlatObjectsWithPlainValues) {
  const std::string tables = Show::tables();
  for (const char* what :
       {"ports",      "jobs",      "members", "tree",   "slots",     "holds",     "stragglers",
        "completion", "escalated", "drops",   "stages", "lcores",    "rxq",       "handover",
        "fdb",        "acl",       "groups",  "lldp",   "fragments", "buffers",   "routes",
        "neighbours", "qps",       "vlans",   "hosts",  "seats",     "telemetry", "names"}) {
    EXPECT_THAT(tables, testing::HasSubstr(what));
    const auto table = show.table(what);
    ASSERT_TRUE(table.is_array()) << what;
    for (const auto& row : table) {
      ASSERT_TRUE(row.is_object()) << what;
      for (const auto& [key, value] : row.items()) expect_plain(value, what + ("/" + key));
    }
  }
}

TEST_F(ShowTestTimed, ConfigReadsBackAsTheSameConfiguration) {
  const auto text = show.table("config").get<std::string>();
  EXPECT_EQ(text, config::dump(null_config()));
}

TEST_F(ShowTestTimed, UnknownTablesAreRefusedWithTheAllowedOnes) {
  try {
    const auto none = show.table("weather");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("weather"));
    EXPECT_THAT(error.what(), testing::HasSubstr(Show::tables()));
  }
  EXPECT_THROW((void)show.table("op"), std::invalid_argument) << "there is no table of all ops";
}

// The loop runs; scrapes and tables come at any time, from other threads.
TEST_F(ShowTestTimed, Rule16_AReloadIsSeenByAllWhoAsk) {
  const Metrics metrics(sw.get());
  std::atomic<bool> over{false};
  std::thread scraper([&] {
    while (!over.load()) static_cast<void>(metrics.Collect());
  });
  config::SwitchConfig next = null_config();
  for (int i = 0; i < 20; ++i) {
    next.jobs[0].lease = Duration::seconds(20 + i);
    next.jobs[0].id = i % 2 == 0 ? 8 : 7;
    const config::Change change = sw.get().apply(next);
    EXPECT_EQ(change.added.size() + change.removed.size(), 2u);
    const auto jobs = show.table("jobs");
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0]["job"], next.jobs[0].id);
    EXPECT_EQ(show.table("config"), config::dump(next));
  }
  over.store(true);
  scraper.join();
  next.slots += 1;
  EXPECT_THROW(sw.get().apply(next), std::invalid_argument);
  EXPECT_EQ(show.table("slots").size(), 0u);
}

}  // namespace
}  // namespace tributary::control
