#include "control/events/epoch_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/wire/drain.h"

namespace tributary::control {
namespace {

using aggregator::EpochLog;
using aggregator::EpochRecord;
using std::chrono::milliseconds;
using std::chrono::system_clock;
using testing::ElementsAre;
using testing::IsEmpty;
using What = EpochRecord::What;

// The records of some jobs at one lcore, as an engine makes them.
class Lines : public testing::Test {
 protected:
  EpochRecord& add(What what, std::uint16_t epoch, std::uint32_t job = 1) {
    EpochRecord record;
    record.serial = ++serial_;
    record.what = what;
    record.epoch = epoch;
    record.job = job;
    if (first_[job] == 0) first_[job] = serial_;
    record.first = first_[job];
    record.nth = next_[job]++;
    epochs_.push_back({0, record, system_clock::time_point(milliseconds(serial_))});
    return epochs_.back().record;
  }
  void begin(std::uint16_t epoch, std::uint32_t job = 1) { add(What::began, epoch, job).count = 4; }
  void leave(std::uint16_t epoch, std::uint32_t job = 1) { add(What::left, epoch, job); }
  void abort(std::uint16_t epoch, wire::Reason reason, std::vector<std::uint16_t> ranks) {
    EpochRecord& record = add(What::aborted, epoch);
    record.reason = reason;
    record.count = static_cast<std::uint16_t>(ranks.size());
    std::copy_n(ranks.begin(), std::min(ranks.size(), record.ranks.size()), record.ranks.begin());
  }
  // "LEVEL JOB: text" of each event.
  std::vector<std::string> look() {
    std::vector<std::string> lines;
    for (const Event& e : lines_.look(std::exchange(epochs_, {}), jobs_, whole_)) {
      EXPECT_EQ(e.kind, "epoch");
      times_.push_back(e.at);
      lines.push_back(std::string(name_of(e.level)) + " " + std::to_string(e.job.value_or(0)) +
                      ": " + e.text);
    }
    return lines;
  }
  void forget(std::uint32_t job) { first_[job] = next_[job] = 0; }

  EpochLines lines_;
  EpochLines::Names jobs_ = {{1, "train"}};
  bool whole_ = true;
  std::vector<SeenEpoch> epochs_;
  std::vector<system_clock::time_point> times_;
  std::uint64_t serial_ = 0;
  std::map<std::uint32_t, std::uint64_t> first_, next_;
};

TEST_F(Lines, TellWhenEpochsBeginAndWhyTheyEnd) {
  EXPECT_THAT(look(), IsEmpty());
  begin(7);
  EXPECT_THAT(look(), ElementsAre("notice 1: 'train' epoch 7 runs with 4 ranks"));
  EXPECT_THAT(look(), IsEmpty());
  abort(7, wire::Reason::lease_expired, {2, 3});
  EXPECT_THAT(look(), ElementsAre("error 1: 'train' epoch 7 ended: lease-expired; rank(s) 2, 3"));
  begin(8);
  abort(8, wire::Reason::shutdown, {});
  EXPECT_THAT(look(), ElementsAre("notice 1: 'train' epoch 8 runs with 4 ranks",
                                  "error 1: 'train' epoch 8 ended: shutdown"));
}

TEST_F(Lines, TellOfTwoEpochsBetweenTwoLooks) {
  begin(7);
  leave(7);
  begin(8);
  leave(8);
  EXPECT_THAT(look(), ElementsAre("notice 1: 'train' epoch 7 runs with 4 ranks",
                                  "notice 1: 'train' epoch 7 is over: its ranks left",
                                  "notice 1: 'train' epoch 8 runs with 4 ranks",
                                  "notice 1: 'train' epoch 8 is over: its ranks left"));
  for (std::size_t i = 0; i < times_.size(); ++i)
    EXPECT_EQ(times_[i], system_clock::time_point(milliseconds(i + 1)));
}

// O1: whose change it was, and how long callers waited.
TEST_F(Lines, TellOfDrainsAndHowLongRanksWaited) {
  EpochRecord& drained = add(What::drained, 7);
  drained.by = 201;
  drained.op = 42;
  EpochRecord& begun = add(What::began, 8);
  begun.count = 4;
  begun.resumes = true;
  begun.pause = Duration::us(12'340);
  add(What::drained, 8).by = wire::kByRanks;
  EXPECT_THAT(
      look(),
      ElementsAre("notice 1: 'train' epoch 7 drained after 42 ops, for a change of switch 201",
                  "notice 1: 'train' epoch 8 runs with 4 ranks, which waited 12.3 ms after a drain",
                  "notice 1: 'train' epoch 8 drained after 0 ops, for another number of ranks"));
}

TEST_F(Lines, TellWhichSwitchIsLostAndThatRanksRetry) {
  abort(7, wire::Reason::lease_expired, {2});
  epochs_.back().record.by = 240;
  EpochRecord& begun = add(What::began, 8);
  begun.count = 4;
  begun.resumes = begun.retries = true;
  begun.pause = Duration::ms(1200);
  EXPECT_THAT(
      look(),
      ElementsAre(
          "error 1: 'train' epoch 7 ended: lease-expired; rank(s) 2; switch 240",
          "notice 1: 'train' epoch 8 runs with 4 ranks, which waited 1200.0 ms after a loss"));
}

TEST_F(Lines, SayHowManyAreLeftOut) {
  begin(1);
  look();
  for (std::uint16_t epoch = 2; epoch < 60; ++epoch) begin(epoch);
  epochs_.erase(epochs_.begin(), epochs_.end() - EpochLog::kMost);
  auto lines = look();
  ASSERT_EQ(lines.size(), EpochLog::kMost + 1);
  EXPECT_EQ(lines[0],
            "warning 1: 'train' 26 lines about its epochs are left out: only the latest 32 within "
            "a second are kept");
  EXPECT_EQ(lines[1], "notice 1: 'train' epoch 28 runs with 4 ranks");
  begin(60);
  EXPECT_THAT(look(), ElementsAre("notice 1: 'train' epoch 60 runs with 4 ranks"));
}

// Also of one that came and went since the look before.
TEST_F(Lines, KnowAJobThatGoesAndOneThatComesWithItsId) {
  begin(1);
  leave(1);
  look();
  abort(2, wire::Reason::configuration_changed, {});
  forget(1);
  begin(3);
  leave(3);
  epochs_.erase(epochs_.begin() + 1);
  jobs_ = {};
  EXPECT_THAT(look(), ElementsAre("error 1: 'train' epoch 2 ended: configuration-changed",
                                  "warning 1: 'train' 1 lines about its epochs are left out: only "
                                  "the latest 32 within a second are kept",
                                  "notice 1: 'train' epoch 3 is over: its ranks left"));
  forget(1);
  begin(4);
  EXPECT_THAT(look(), ElementsAre("notice 1: epoch 4 runs with 4 ranks"));
}

// A loop that is late has not told of its jobs, and may have some that are removed.
TEST_F(Lines, KnowJobsOfALateLoopStill) {
  begin(1);
  look();
  jobs_ = {};
  whole_ = false;
  EXPECT_THAT(look(), IsEmpty());
  leave(1);
  EXPECT_THAT(look(), ElementsAre("notice 1: 'train' epoch 1 is over: its ranks left"));
}

TEST_F(Lines, AreInTheOrderOfTimeOverAllJobs) {
  jobs_[2] = "";
  begin(1, 2);
  begin(7);
  leave(1, 2);
  std::swap(epochs_[0], epochs_[1]);  // of another lcore
  EXPECT_THAT(look(), ElementsAre("notice 2: epoch 1 runs with 4 ranks",
                                  "notice 1: 'train' epoch 7 runs with 4 ranks",
                                  "notice 2: epoch 1 is over: its ranks left"));
}

TEST_F(Lines, NameTheFirstOfManyRanksAndThePlane) {
  jobs_ = {};
  std::vector<std::uint16_t> ranks(20);
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<std::uint16_t>(i);
  abort(9, wire::Reason::deadline, ranks);
  epochs_.back().record.plane = 1;
  EXPECT_THAT(look(),
              ElementsAre("error 1: plane 1 epoch 9 ended: deadline; rank(s) 0, 1, 2, 3, 4, 5, 6, "
                          "7, 8, 9, 10, 11, 12, 13, 14, 15, ..."));
}

}  // namespace
}  // namespace tributary::control
