#include "tools/telemetryd/history_file.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>

#include "tests/database/scratch.h"

namespace tributary::telemetryd {
namespace {

using database::Scratch;
using database::Sqlite;
using testing::HasSubstr;
using Value = std::optional<std::uint64_t>;

LinkRow row(std::uint32_t node, std::uint16_t port, std::uint64_t latency_ns,
            std::uint64_t dropped = 0) {
  return {node, port, latency_ns, latency_ns / 2, latency_ns * 2, 1000, 3, dropped};
}

std::string failure(const std::string& path) {
  try {
    const HistoryFile file(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(HistoryFile, StepsHaveAveragesAndTheMost) {
  const Scratch scratch;
  HistoryFile file(scratch.file());
  for (int second = 0; second < 6; ++second) {
    const std::vector<LinkRow> rows{row(1, 2, 1000 + static_cast<std::uint64_t>(second) * 100, 1),
                                    row(1, 3, 5), row(2, 2, 6)};
    file.write(10'000 + second * 1000, rows, {});
  }
  HistoryReader reader(scratch.file());
  const HistoryRange range{10'000, 15'000, 2000};
  EXPECT_EQ(reader.times(range, 100), 5);
  EXPECT_EQ(reader.times(range, 3), 3);
  const auto steps = reader.link({1, 2}, range);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].begin_ms, 10'000);
  EXPECT_EQ(steps[0].rows, 2);
  EXPECT_EQ(steps[0].link.latency_ns, Value(1050));
  EXPECT_EQ(steps[0].link.p50_ns, Value(525));
  EXPECT_EQ(steps[0].link.p99_ns, Value(2200));
  EXPECT_EQ(steps[0].link.utilisation_ppm, Value(1000));
  EXPECT_EQ(steps[0].link.queue, Value(3));
  EXPECT_EQ(steps[0].link.dropped, 2u);
  EXPECT_EQ(steps[2].begin_ms, 14'000);
  EXPECT_EQ(steps[2].rows, 1) << "15 s is outside";
  EXPECT_TRUE(reader.link({9, 9}, range).empty());
}

TEST(HistoryFile, UnknownValuesStayUnknown) {
  const Scratch scratch;
  HistoryFile file(scratch.file());
  LinkRow unknown;
  unknown.node = 0xFFFFFFFE;
  unknown.port = 65534;
  file.write(1000, std::vector<LinkRow>{unknown}, {});
  const auto steps = HistoryReader(scratch.file()).link({0xFFFFFFFE, 65534}, {0, 2000, 1000});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_FALSE(steps[0].link.latency_ns || steps[0].link.p99_ns || steps[0].link.queue ||
               steps[0].link.utilisation_ppm);
}

TEST(HistoryFile, DecisionsAreTheLatestFirst) {
  const Scratch scratch;
  HistoryFile file(scratch.file());
  file.write(1000, {},
             std::vector<DecisionRow>{{900, "a", "b", "first"}, {950, "a", "b", "second"}});
  file.write(2000, {}, std::vector<DecisionRow>{{1950, "a", "c", "third"}});
  HistoryReader reader(scratch.file());
  const auto two = reader.decisions({0, 5000}, 2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].explanation, "third");
  EXPECT_EQ(two[0].to, "c");
  EXPECT_EQ(two[1].explanation, "second");
  EXPECT_EQ(two[1].time_ms, 950);
  EXPECT_EQ(reader.decisions({0, 950}, 9).size(), 1u);
}

TEST(HistoryFile, RowsStayOverARestartAndTheClockMayGoBack) {
  const Scratch scratch;
  {
    HistoryFile file(scratch.file());
    file.write(5000, std::vector<LinkRow>{row(1, 2, 100)}, {});
  }
  HistoryFile file(scratch.file());
  file.write(4000, std::vector<LinkRow>{row(1, 2, 200)}, {});
  file.write(5000, std::vector<LinkRow>{row(1, 2, 300)}, {});
  const auto steps = HistoryReader(scratch.file()).link({1, 2}, {0, 9000, 1000});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].link.latency_ns, Value(200));
  EXPECT_EQ(steps[1].link.latency_ns, Value(300));
}

TEST(HistoryFile, ForgetsWhatIsOlderAFewTimesATurn) {
  const Scratch scratch;
  HistoryFile file(scratch.file());
  HistoryReader reader(scratch.file());
  const HistoryRange all{0, 1'000'000, 1000};
  const std::int64_t times = HistoryFile::kMostForgotten + 20;
  for (std::int64_t second = 1; second <= times; ++second)
    file.write(second * 1000, std::vector<LinkRow>{row(1, 2, 100)},
               std::vector<DecisionRow>{{second * 1000, "a", "b", "why"}});
  file.forget(1000);
  EXPECT_EQ(reader.times(all, 1000), times) << "none is older";
  file.forget(3000);
  EXPECT_EQ(reader.times(all, 1000), times - 2);
  EXPECT_EQ(reader.link({1, 2}, all).size(), static_cast<std::size_t>(times - 2));
  EXPECT_EQ(reader.decisions(all, 1000).size(), static_cast<std::size_t>(times - 2));
  file.forget(1'000'000);
  EXPECT_EQ(reader.times(all, 1000), times - 2 - HistoryFile::kMostForgotten);
  file.forget(1'000'000);
  EXPECT_EQ(reader.times(all, 1000), 0);
  EXPECT_TRUE(reader.link({1, 2}, all).empty());
  EXPECT_TRUE(reader.decisions(all, 1000).empty());
}

TEST(HistoryFile, ForeignFilesAreRefusedAndLeftAlone) {
  const Scratch scratch;
  {
    Sqlite other(scratch.file());
    other.run("CREATE TABLE theirs (a)");
  }
  EXPECT_THAT(failure(scratch.file()),
              HasSubstr("history " + scratch.file() + ": is a database of another program"));
  Sqlite other(scratch.file());
  EXPECT_EQ(other.number("SELECT count(*) FROM sqlite_master"), 1);
  EXPECT_EQ(other.number("PRAGMA application_id"), 0);
  other.run("PRAGMA application_id=7");
  other.run("DROP TABLE theirs");
  EXPECT_THAT(failure(scratch.file()), HasSubstr("another program"));
}

TEST(HistoryFile, AnotherFormatIsRefused) {
  const Scratch scratch;
  { const HistoryFile file(scratch.file()); }
  Sqlite(scratch.file()).run("PRAGMA user_version=2");
  EXPECT_THAT(failure(scratch.file()), HasSubstr("has format 2; this program reads 1"));
}

TEST(HistoryFile, DamagedFilesAreRefused) {
  const Scratch scratch;
  {
    std::FILE* const file = std::fopen(scratch.file().c_str(), "w");
    std::fputs(std::string(8192, 'x').c_str(), file);
    std::fclose(file);
  }
  EXPECT_THAT(failure(scratch.file()), HasSubstr(scratch.file() + ": file is not a database"));
  std::filesystem::remove(scratch.file());
  {
    HistoryFile file(scratch.file());
    for (int i = 0; i < 200; ++i) file.write(i, std::vector<LinkRow>(1, row(1, 2, 100)), {});
  }
  std::filesystem::resize_file(scratch.file(), std::filesystem::file_size(scratch.file()) / 2);
  EXPECT_THAT(failure(scratch.file()), HasSubstr("malformed"));
  EXPECT_THAT(failure("/no/such/folder/history.db"), HasSubstr("unable to open"));
}

TEST(HistoryFile, AReaderOnlyReads) {
  const Scratch scratch;
  const HistoryFile file(scratch.file());
  HistoryReader reader(scratch.file());
  EXPECT_EQ(reader.times({0, 1000, 1000}, 10), 0);
}

}  // namespace
}  // namespace tributary::telemetryd
