#include "aggregator/engine/epoch_log.h"

#include <gmock/gmock.h>

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

EpochRecord record(std::uint64_t serial, Instant at = {}) {
  EpochRecord made;
  made.serial = serial;
  made.at = at;
  return made;
}

std::vector<std::uint64_t> serials_after(const EpochLog& log, std::uint64_t serial) {
  std::vector<EpochRecord> found;
  log.add_newer(serial, found);
  std::vector<std::uint64_t> serials;
  for (const EpochRecord& one : found) serials.push_back(one.serial);
  return serials;
}

TEST(EpochLog, GivesWhatIsNewer) {
  EpochLog log;
  EXPECT_EQ(log.newest(), 0u);
  EXPECT_EQ(log.latest(), Instant());
  EXPECT_THAT(serials_after(log, 0), IsEmpty());
  for (const std::uint64_t serial : {3, 4, 9}) log.add(record(serial, Instant::from_ns(5)));
  EXPECT_EQ(log.newest(), 9u);
  EXPECT_EQ(log.latest(), Instant::from_ns(5));
  EXPECT_THAT(serials_after(log, 0), ElementsAre(3, 4, 9));
  EXPECT_THAT(serials_after(log, 3), ElementsAre(4, 9));
  EXPECT_THAT(serials_after(log, 5), ElementsAre(9)) << "5 is another job's";
  EXPECT_THAT(serials_after(log, 9), IsEmpty());
}

// A reader that has read up to some record finds by their numbers how many it has missed.
TEST(EpochLog, KeepsTheLatestAndCountsAll) {
  EpochLog log;
  constexpr std::uint64_t kMany = 3 * EpochLog::kMost + 5;
  for (std::uint64_t serial = 11; serial < 11 + kMany; ++serial) log.add(record(serial));
  std::vector<EpochRecord> found;
  log.add_newer(0, found);
  ASSERT_THAT(found, SizeIs(EpochLog::kMost));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].nth, kMany - EpochLog::kMost + i);
    EXPECT_EQ(found[i].serial, 11 + found[i].nth);
    EXPECT_EQ(found[i].first, 11u);
  }
  EXPECT_THAT(serials_after(log, 11 + kMany - 3), ElementsAre(11 + kMany - 2, 11 + kMany - 1));
}

TEST(EpochRecord, NamesTheFirstRanksOfMany) {
  EpochRecord ended;
  ended.count = 2;
  EXPECT_THAT(ended.named(), SizeIs(2));
  ended.count = EpochRecord::kMostRanks + 1;
  EXPECT_THAT(ended.named(), SizeIs(EpochRecord::kMostRanks));
}

}  // namespace
}  // namespace tributary::aggregator
