// What the engine records of epochs, for the switch's events: each begin and each end, of jobs that
// change or go, too.
#include <gmock/gmock.h>

#include "core/wire/drain.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class EngineEpochs : public EngineTest {
 protected:
  // "7 began 42, 3 ranks" of each record that is new.
  std::vector<std::string> news() {
    std::vector<std::string> lines;
    const EpochRecords found = engine_->epoch_records(read_);
    for (const EpochRecord& one : found.records) lines.push_back(line(one));
    read_ = found.until;
    return lines;
  }
  static std::string line(const EpochRecord& one) {
    using What = EpochRecord::What;
    std::string text = std::to_string(one.job) + " ";
    if (one.what == What::began) text += "began ";
    if (one.what == What::left) text += "left ";
    if (one.what == What::drained) text += "drained ";
    if (one.what == What::aborted) text += std::string(wire::name_of(one.reason)) + " ";
    text += std::to_string(one.epoch);
    if (one.what == What::began) text += ", " + std::to_string(one.count) + " ranks";
    if (one.what == What::drained) text += ", " + std::to_string(one.op) + " ops";
    for (const std::uint16_t rank :
         one.what == What::aborted ? one.named() : std::span<const std::uint16_t>())
      text += " " + std::to_string(rank);
    return text;
  }
  void leave_all() {
    for (std::uint32_t rank = 0; rank < workers_; ++rank) leave(rank);
  }
  void change(const config::SwitchConfig& next) {
    const auto prepared = engine_->prepare(next);
    engine_->quiesce(*prepared, *outbox_);
    engine_->apply(*prepared);
    outbox_ = std::make_unique<Outbox>(engine_->outbox_capacity());
  }
  static config::JobConfig job(std::uint32_t id, std::uint32_t workers) {
    config::JobConfig made = test_job(workers);
    made.id = id;
    return made;
  }

  std::uint64_t read_ = 0;
};

TEST_F(EngineEpochs, EachBeginAndEachEndIsKnownHoweverShortTheEpochWas) {
  build(2);
  EXPECT_THAT(news(), IsEmpty());
  join_all();
  leave_all();
  join_all(1);
  now_ = now_ + Duration::seconds(2);
  expire();
  EXPECT_THAT(news(), ElementsAre("7 began 41, 2 ranks", "7 left 41", "7 began 42, 2 ranks",
                                  "7 lease-expired 42 0"));
  EXPECT_THAT(news(), IsEmpty());
  join_all(2);
  sent_.clear();
  engine_->shut_down(*outbox_);
  EXPECT_THAT(news(), ElementsAre("7 began 43, 2 ranks", "7 shutdown 43"));
}

TEST_F(EngineEpochs, ARecordHasItsTime) {
  build(1);
  join_all();
  const Instant begun = now_;
  now_ = now_ + Duration::ms(7);
  expire();
  leave_all();
  const auto records = engine_->epoch_records(0).records;
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].at, begun);
  EXPECT_EQ(records[1].at, now_);
}

// The reader repeats its question when an answer was lost.
TEST_F(EngineEpochs, AQuestionThatComesAgainHasTheSameAnswer) {
  build(1);
  join_all();
  leave_all();
  EXPECT_THAT(engine_->epoch_records(1).records, SizeIs(1));
  EXPECT_THAT(engine_->epoch_records(0).records, SizeIs(2));
  EXPECT_EQ(engine_->epoch_records(0).until, 2u);
}

TEST_F(EngineEpochs, MoreThanAreKeptShowInTheirNumbers) {
  build(1);
  constexpr int kEpochs = static_cast<int>(EpochLog::kMost);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    join_all(epoch);
    leave_all();
  }
  const EpochRecords found = engine_->epoch_records(0);
  ASSERT_THAT(found.records, SizeIs(EpochLog::kMost));
  EXPECT_EQ(found.records.front().nth, EpochLog::kMost);
  EXPECT_EQ(found.until, 2 * EpochLog::kMost);
}

TEST_F(EngineEpochs, AChangeKeepsTheRecordsOfJobsThatChangeOrGo) {
  build(test_switch({job(kJob, 2), job(8, 1)}));
  join_all();
  change(test_switch({job(kJob, 1), job(8, 1)}));
  workers_ = 1;
  join_all(1);
  EXPECT_THAT(news(), ElementsAre("7 began 41, 2 ranks", "7 configuration-changed 41",
                                  "7 began 42, 1 ranks"));
  change(test_switch({job(8, 1)}));
  change(test_switch({job(8, 2)}));
  EXPECT_THAT(news(), ElementsAre("7 configuration-changed 42")) << "two changes ago";
  change(test_switch({job(kJob, 1), job(8, 2)}));
  join_all(2);
  const auto records = engine_->epoch_records(read_).records;
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].nth, 0u) << "another job of that id";
  EXPECT_EQ(records[0].first, records[0].serial);
}

}  // namespace
}  // namespace tributary::aggregator
