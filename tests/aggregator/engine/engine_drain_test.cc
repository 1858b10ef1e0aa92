// Drains: the epoch ends after an op that all ranks finish, and the next one goes on from there
// (rule 22, O1).
#include <gmock/gmock.h>

#include "core/op_number.h"
#include "core/wire/drain.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::DrainStep;
using wire::PacketType;
using wire::Reason;

class EngineDrainTest : public EngineTest {
 protected:
  void start(std::uint32_t workers = 3) {
    build(workers);
    for (std::uint32_t r = 0; r < workers; ++r) join_saying(r, 0, {DrainStep::able, 0, 0, 0});
    ASSERT_EQ(status().state, JobState::running);
    epoch_ = status().epoch;
  }
  Decision join_saying(std::uint32_t rank, int incarnation, const wire::Drain& drain) {
    std::array<std::byte, 48> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(nonce(rank, incarnation));
    wire::add_drain(ext, drain);
    return deliver({header(PacketType::join, rank), ext.bytes(), {}}, peer(rank));
  }
  Decision resume(std::uint32_t rank, std::uint32_t op, int incarnation = 1) {
    return join_saying(rank, incarnation, {DrainStep::resume, id_, op, 0});
  }
  Decision retry(std::uint32_t rank, int incarnation) {
    constexpr std::uint64_t kPast = 0x1234567;
    return join_saying(rank, incarnation, {DrainStep::resume, kPast, kNoOp, 0});
  }
  Decision say(std::uint32_t rank, DrainStep step, std::uint32_t op) {
    std::array<std::byte, 32> room;
    wire::ExtensionWriter ext(room);
    wire::add_drain(ext, {step, id_, op, 0});
    return deliver({header(PacketType::lease, rank), ext.bytes(), {}}, peer(rank));
  }
  // The engine's question.
  void drain() {
    sent_.clear();
    engine_->drain(jobs_, now_, *outbox_);
    collect();
    ASSERT_EQ(sent_.size(), 1u);
    ASSERT_EQ(said().step, DrainStep::ask);
    id_ = said().id;
  }
  // What the first of the sent packets says.
  [[nodiscard]] wire::Drain said() const {
    EXPECT_FALSE(sent_.empty());
    EXPECT_EQ(sent_.at(0).to, Outgoing::To::job_group);
    EXPECT_EQ(sent_.at(0).header.type, PacketType::lease);
    EXPECT_EQ(sent_.at(0).header.epoch, epoch_);
    return wire::find_drain(sent_.at(0).extensions).value_or(wire::Drain{});
  }
  void end_at(std::uint32_t op) {
    for (std::uint32_t r = 0; r < workers_; ++r) say(r, DrainStep::answer, op);
    ASSERT_EQ(said().op, op);
  }
  [[nodiscard]] std::vector<std::uint32_t> draining() const { return engine_->draining(jobs_); }

  const std::array<std::uint32_t, 1> jobs_ = {kJob};
  std::uint64_t id_ = 0;
};

TEST_F(EngineDrainTest, Rule22_TheEpochEndsAfterTheLargestAnswer) {
  start();
  drain();
  EXPECT_NE(id_, 0u);
  say(0, DrainStep::answer, 5);
  EXPECT_THAT(sent_, IsEmpty());
  say(1, DrainStep::answer, 7);
  EXPECT_THAT(sent_, IsEmpty()) << "rank 2 may have begun more";
  say(2, DrainStep::answer, 6);
  EXPECT_EQ(said(), (wire::Drain{DrainStep::end, id_, 7, said().by}));
  EXPECT_THAT(draining(), ElementsAre(kJob));
}

TEST_F(EngineDrainTest, Rule22_QuestionAndEndAreRepeated) {
  start();
  drain();
  expire();
  EXPECT_THAT(sent_, IsEmpty());
  now_ = now_ + Duration::ms(5);
  expire();
  EXPECT_EQ(said().step, DrainStep::ask);
  end_at(3);
  now_ = now_ + Duration::ms(5);
  expire();
  EXPECT_EQ(said().step, DrainStep::end);
  EXPECT_EQ(said().op, 3u);
}

TEST_F(EngineDrainTest, Rule22_RanksLeaveByTheirJoinAndTheNextEpochBegins) {
  start();
  const std::uint16_t before = epoch_;
  complete(0);
  drain();
  engine_->release(jobs_);
  end_at(1);
  now_ = now_ + Duration::ms(20);
  resume(0, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_EQ(counters().members.get(), 2u);
  // It sends for the old epoch no more: what is late is refused.
  EXPECT_EQ(contribute(0, 1, {1}).verdict, Verdict::refused);
  resume(1, 1);
  resume(2, 1);
  EXPECT_THAT(draining(), IsEmpty());
  EXPECT_EQ(counters().drains.get(), 1u);
  EXPECT_EQ(counters().drained_at.get(), 1u);
  resume(0, 1);
  resume(1, 1);
  ASSERT_EQ(sent_.size(), 3u);
  EXPECT_EQ(sent_[0].header.type, PacketType::start);
  EXPECT_NE(sent_[0].header.epoch, before);
  EXPECT_EQ(counters().last_pause_ns.get(), 20'000'000u);
  EXPECT_EQ(counters().pauses.count(), 1u);
  epoch_ = sent_[0].header.epoch;
  const auto records = engine_->epoch_records(0).records;
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].what, EpochRecord::What::drained);
  EXPECT_EQ(records[1].epoch, before);
  EXPECT_EQ(records[1].op, 1u);
  EXPECT_EQ(records[2].what, EpochRecord::What::began);
  EXPECT_TRUE(records[2].resumes && !records[0].resumes && !records[2].retries);
  EXPECT_EQ(records[2].pause, Duration::ms(20));
  complete(0);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), (std::vector<std::int32_t>{6}));
  EXPECT_EQ(status().last_abort, Reason::none);
}

TEST_F(EngineDrainTest, O1_NoEpochBeginsBeforeTheChange) {
  start(2);
  drain();
  end_at(0);
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t r = 0; r < 2; ++r) resume(r, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  engine_->release(jobs_);
  resume(0, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
}

// Ranks that do lost ops again meet in an epoch of their own (rule 23).
TEST_F(EngineDrainTest, Rule23_ARetryEndsTheEpochThatRuns) {
  start();
  retry(0, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::abort);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_restarted);
  retry(1, 1);
  retry(2, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
  EXPECT_EQ(counters().retries.get(), 1u);
  EXPECT_EQ(counters().pauses.count(), 1u);
}

TEST_F(EngineDrainTest, O1_APauseAfterALossBeginsWithTheLastSignOfLife) {
  start(2);
  now_ = now_ + Duration::ms(700);
  deliver(header(PacketType::lease, 0), peer(0));
  now_ = now_ + Duration::ms(400);
  expire();  // rank 1 has been silent for 1.1 s
  EXPECT_EQ(sent_.at(0).header.reason, Reason::lease_expired);
  now_ = now_ + Duration::ms(100);
  retry(0, 1);
  retry(1, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
  EXPECT_EQ(counters().last_pause_ns.get(), 1'200'000'000u);
  const auto records = engine_->epoch_records(0).records;
  ASSERT_EQ(records.size(), 3u);
  EXPECT_TRUE(records[2].resumes && records[2].retries);
  EXPECT_EQ(records[2].pause, Duration::ms(1200));
}

TEST_F(EngineDrainTest, Rule23_RanksThatGoOnFromADrainHaveToRetryWithTheOthers) {
  start(2);
  drain();
  engine_->release(jobs_);
  end_at(1);
  resume(0, 1);
  resume(1, 1);
  EXPECT_EQ(status().state, JobState::forming);
  now_ = now_ + Duration::ms(200);  // no JOIN is so late
  retry(0, 2);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  resume(1, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::nack);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_restarted);
  retry(1, 2);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
}

TEST_F(EngineDrainTest, Rule23_ARetryDoesNotMeetARankThatBeginsAnew) {
  start();
  retry(0, 1);
  retry(1, 1);
  join_saying(2, 1, {DrainStep::able, 0, 0, 0});
  retry(0, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::nack);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_restarted);
  EXPECT_EQ(sent_.at(0).missing(), (std::vector<std::uint32_t>{2}));
  EXPECT_NE(status().state, JobState::running);
}

// An operator's hold outlasts changes, and an epoch that a switch above begins.
TEST_F(EngineDrainTest, O1_NoEpochBeginsBeforeTheOperatorSaysSo) {
  start(2);
  sent_.clear();
  engine_->drain(jobs_, now_, *outbox_, Holder::operator_);
  collect();
  id_ = said().id;
  EXPECT_TRUE(status().held);
  EXPECT_THAT(engine_->draining(jobs_, Holder::operator_), ElementsAre(kJob));
  end_at(0);
  engine_->release(jobs_);
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t r = 0; r < 2; ++r) resume(r, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_THAT(engine_->draining(jobs_, Holder::operator_), IsEmpty());
  engine_->release(jobs_, Holder::operator_);
  EXPECT_FALSE(status().held);
  resume(0, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
}

TEST_F(EngineDrainTest, O1_AnOperatorHearsOfAJobThatCannotBeDrained) {
  build(2);
  join_all();
  engine_->drain(jobs_, now_, *outbox_, Holder::operator_);
  EXPECT_THAT(engine_->draining(jobs_, Holder::operator_), ElementsAre(kJob));
}

TEST_F(EngineDrainTest, Rule22_ARankThatBeginsAnewDoesNotMeetOthersThatGoOn) {
  start();
  drain();
  engine_->release(jobs_);
  end_at(2);
  for (std::uint32_t r = 0; r < 3; ++r) resume(r, 2);
  resume(0, 2);
  now_ = now_ + Duration::ms(200);
  join_saying(2, 5, {DrainStep::able, 0, 0, 0});
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_EQ(sent_.at(0).missing(), (std::vector<std::uint32_t>{0, 1}));
  resume(0, 2);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, Reason::rank_restarted);
  EXPECT_EQ(sent_[0].missing(), (std::vector<std::uint32_t>{2}));
  // All begin anew.
  join_saying(0, 6, {DrainStep::able, 0, 0, 0});
  join_saying(1, 6, {DrainStep::able, 0, 0, 0});
  join_saying(2, 5, {DrainStep::able, 0, 0, 0});
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
}

TEST_F(EngineDrainTest, Rule22_AJoinFromBeforeTheDrainIsNoRestart) {
  start(2);
  drain();
  engine_->release(jobs_);
  end_at(2);
  resume(0, 2);
  resume(1, 2);
  EXPECT_EQ(join_saying(0, 7, {DrainStep::able, 0, 0, 0}).verdict, Verdict::dropped);
  resume(0, 2);
  resume(1, 2);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
}

TEST_F(EngineDrainTest, Rule22_AJoinFromTheDrainBeforeBeginsNoEpoch) {
  start(1);
  drain();
  end_at(2);
  resume(0, 2);
  engine_->release(jobs_);
  EXPECT_EQ(join_saying(0, 6, {DrainStep::resume, id_ ^ 1, 1, 0}).verdict, Verdict::dropped);
  resume(0, 2);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
}

TEST_F(EngineDrainTest, Rule22_WhoIsThroughFailsWithTheEpochThatIsAborted) {
  start();
  drain();
  end_at(4);
  resume(0, 4);
  now_ = now_ + Duration::ms(900);
  acknowledge(1, 0);
  now_ = now_ + Duration::ms(200);
  expire();
  EXPECT_EQ(sent_.at(0).header.reason, Reason::lease_expired);
  resume(0, 4);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, Reason::lease_expired);
  EXPECT_EQ(sent_[0].missing(), (std::vector<std::uint32_t>{2}));
  EXPECT_THAT(draining(), IsEmpty());
}

TEST_F(EngineDrainTest, Rule22_WhereARankHasLeftForGoodNoneGoesOn) {
  start(2);
  drain();
  end_at(0);
  leave(1);
  resume(0, 0);
  resume(0, 0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::nack);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::rank_left);
  EXPECT_EQ(sent_.at(0).missing(), (std::vector<std::uint32_t>{1}));
}

TEST_F(EngineDrainTest, O1_AChangeThatWaitsTooLongNamesWhoHasNotFinished) {
  start();
  drain();
  end_at(4);
  resume(0, 4);
  resume(2, 4);
  config::SwitchConfig next = test_switch({test_job(3)});
  next.jobs[0].deadline = Duration::ms(600);
  const auto change = engine_->prepare(next);
  sent_.clear();
  engine_->quiesce(*change, *outbox_);
  collect();
  EXPECT_EQ(sent_.at(0).header.reason, Reason::configuration_changed);
  EXPECT_EQ(sent_.at(0).missing(), (std::vector<std::uint32_t>{1}));
  engine_->apply(*change);
  resume(0, 4);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::aborted)
      << "a tree that differs would be waited for";
}

// The change makes a job of other settings; who waits for it goes on in it.
TEST_F(EngineDrainTest, O1_RanksGoOnUnderTheNewConfiguration) {
  start(2);
  drain();
  end_at(4);
  resume(0, 4);
  resume(1, 4);
  config::SwitchConfig next = test_switch({test_job(2)});
  next.jobs[0].lease = Duration::ms(2000);
  const auto change = engine_->prepare(next);
  sent_.clear();
  engine_->quiesce(*change, *outbox_);
  collect();
  EXPECT_THAT(sent_, IsEmpty());
  engine_->apply(*change);
  resume(0, 4);
  resume(1, 4);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(wire::find_start_info(sent_[0].extensions)->lease_ms, 2000u);
  EXPECT_EQ(counters().drains.get(), 1u);
}

TEST_F(EngineDrainTest, Rule22_AJobWithARankThatCannotDrainIsLeftAlone) {
  build(2);
  join_all();
  sent_.clear();
  engine_->drain(jobs_, now_, *outbox_);
  collect();
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(draining(), IsEmpty());
}

TEST_F(EngineDrainTest, Rule22_ARankThatRefusesEndsTheEpoch) {
  start(2);
  drain();
  say(0, DrainStep::answer, 3);
  say(1, DrainStep::refuse, 3);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::abort);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::configuration_changed);
  EXPECT_EQ(sent_.at(0).missing(), (std::vector<std::uint32_t>{1}));
}

TEST_F(EngineDrainTest, Rule22_AnswersToOtherQuestionsAreNone) {
  start(2);
  drain();
  say(0, DrainStep::answer, 3);
  const std::uint64_t id = std::exchange(id_, id_ + 2);
  say(1, DrainStep::answer, 3);
  EXPECT_THAT(sent_, IsEmpty());
  for (const auto step : {DrainStep::end, DrainStep::ask, DrainStep::wanted,
                          static_cast<DrainStep>(0), static_cast<DrainStep>(999)}) {
    id_ = id;
    say(1, step, 3);
    EXPECT_THAT(sent_, IsEmpty());
  }
  say(1, DrainStep::answer, 3);
  EXPECT_EQ(said().step, DrainStep::end);
}

}  // namespace
}  // namespace tributary::aggregator
