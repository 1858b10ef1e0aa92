#include "tools/telemetryd/history.h"

#include <gmock/gmock.h>

#include "tests/database/scratch.h"

namespace tributary::telemetryd {
namespace {

using database::Scratch;
using testing::HasSubstr;

constexpr std::int64_t kStart = 1'700'000'000'000;

std::vector<LinkRow> rows(std::size_t count) {
  std::vector<LinkRow> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i].node = static_cast<std::uint32_t>(i + 1);
  return out;
}

// A second passes with each turn.
struct Bed {
  explicit Bed(HistoryOptions options) : history(with_file(std::move(options))) {}
  HistoryOptions with_file(HistoryOptions options) const {
    options.file = scratch.file();
    return options;
  }
  std::optional<std::string> turn(std::size_t count, std::int64_t seconds = 1) {
    now = now + Duration::seconds(seconds);
    return history.write(rows(count), now, kStart + now.to_ns() / 1'000'000);
  }
  [[nodiscard]] std::int64_t kept_times() const {
    return HistoryReader(scratch.file()).times({0, 2 * kStart, 1000}, 1'000'000);
  }

  Scratch scratch;
  Instant now;
  History history;
};

TEST(History, C7_KeepsRowsForItsTimeAndNoLonger) {
  HistoryOptions options;
  options.keep = Duration::seconds(60);
  Bed bed(options);
  for (int second = 0; second < 200; ++second) EXPECT_EQ(bed.turn(3), std::nullopt);
  EXPECT_EQ(bed.kept_times(), 61);  // the oldest one is a minute old
  EXPECT_EQ(bed.history.counters().rows, 600u);
  EXPECT_EQ(bed.history.counters().failed_turns, 0u);
  EXPECT_EQ(bed.history.counters().missed_turns, 0u);
}

TEST(History, DecisionsComeInTheNextTurnAndThoseBeyondTheLimitAreCounted) {
  Bed bed({});
  for (std::size_t i = 0; i < History::kMostWaiting + 5; ++i)
    bed.history.note({kStart + static_cast<std::int64_t>(i), "a", "b", "why"});
  EXPECT_EQ(bed.history.counters().decisions, 0u);
  bed.turn(0);
  EXPECT_EQ(bed.history.counters().decisions, History::kMostWaiting);
  EXPECT_EQ(bed.history.counters().lost_decisions, 5u);
  bed.turn(0);
  EXPECT_EQ(bed.history.counters().decisions, History::kMostWaiting);
  EXPECT_EQ(HistoryReader(bed.scratch.file()).decisions({0, 2 * kStart}, 5000).size(),
            History::kMostWaiting);
}

TEST(History, TurnsThatDidNotComeAreCounted) {
  Bed bed({});
  bed.turn(1);
  bed.turn(1, 4);
  EXPECT_EQ(bed.history.counters().missed_turns, 3u);
  bed.turn(1);
  EXPECT_EQ(bed.history.counters().missed_turns, 3u);
}

TEST(History, AFullDiskIsCountedAndLoggedOnceAndWritingGoesOn) {
  HistoryOptions options;
  options.keep = Duration::seconds(60);
  options.most_pages = 16;
  Bed bed(options);
  bed.history.note({kStart, "a", "b", "why"});
  const auto first = bed.turn(5000);
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(*first, HasSubstr("database or disk is full"));
  EXPECT_THAT(*first, HasSubstr("rows are lost"));
  EXPECT_EQ(bed.turn(5000), std::nullopt) << "said before";
  EXPECT_EQ(bed.history.counters().failed_turns, 2u);
  EXPECT_EQ(bed.history.counters().rows, 0u);
  EXPECT_EQ(bed.history.counters().lost_decisions, 1u);
  const auto again = bed.turn(5);
  ASSERT_TRUE(again.has_value());
  EXPECT_THAT(*again, HasSubstr("written again"));
  EXPECT_EQ(bed.history.counters().rows, 5u);
}

// Old rows make room for new ones, so a file that once had room for `keep` has it for good.
TEST(History, TheFileDoesNotGrowOnceItHasAllThatItKeeps) {
  HistoryOptions options;
  options.keep = Duration::seconds(60);
  Bed bed(options);
  const auto pages = [&] {
    return database::Sqlite(bed.scratch.file()).number("PRAGMA page_count");
  };
  for (int second = 0; second < 100; ++second) bed.turn(100);
  const std::int64_t once = pages();
  for (int second = 0; second < 300; ++second) bed.turn(100);
  EXPECT_LE(pages(), once + once / 10);
}

}  // namespace
}  // namespace tributary::telemetryd
