#include "control/events/event_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary::control {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

Event event(int at, const std::string& text) {
  return {system_clock::time_point(seconds(at)), LogLevel::warning, "drops", 7, text};
}

TEST(EventLog, KeepsTheLatestAndTellsTheSinkOfAll) {
  std::vector<std::string> told;
  EventLog log(
      [&](LogLevel level, const std::string& line) {
        EXPECT_EQ(level, LogLevel::warning);
        told.push_back(line);
      },
      2);
  for (const int at : {1, 2}) log.add(event(at, std::to_string(at)));
  Event of_no_job = event(3, "3");
  of_no_job.job.reset();
  log.add(of_no_job);
  EXPECT_EQ(told, (std::vector<std::string>{"job 7: 1", "job 7: 2", "3"}));
  const auto all = log.since({});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text, "2");
  EXPECT_EQ(show_events(log, "", {}).notes,
            std::vector<std::string>{"1 older events are no longer kept"});
}

TEST(EventLog, RowsHaveTimesInUtcAndMayBeThoseSinceATime) {
  EventLog log({});
  log.add(event(0, "old"));
  log.add(event(1'700'000'000, "new"));
  const auto now = system_clock::time_point(seconds(1'700'000'010));
  EXPECT_EQ(show_events(log, "", now).data.size(), 2u);
  const auto rows = show_events(log, "60", now).data;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].dump(),
            R"({"time":"2023-11-14T22:13:20.000Z","level":"warning","kind":"drops","job":7,)"
            R"("text":"new"})");
  EXPECT_EQ(show_events(log, "1", now).data.size(), 0u);
  for (const char* const wrong : {"-1", "1h", " 1", "4294967296"})
    EXPECT_THROW(show_events(log, wrong, now), std::invalid_argument) << wrong;
}

}  // namespace
}  // namespace tributary::control
