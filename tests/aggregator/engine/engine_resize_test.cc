// Jobs whose ranks choose how many they are (rule 24): by the JOINs of an epoch that forms.
#include <gmock/gmock.h>

#include "core/wire/drain.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::DrainStep;
using wire::PacketType;
using wire::Reason;

class EngineResizeTest : public EngineTest {
 protected:
  void SetUp() override {
    config::SwitchConfig config = test_switch({test_job(5)});
    config.jobs[0].min_workers = 2;
    build(config);
  }
  Decision join_as(std::uint32_t size, std::uint32_t rank, int incarnation = 0) {
    return say_join(size, rank, incarnation, {DrainStep::able, 0, 0, 0});
  }
  Decision resume(std::uint32_t size, std::uint32_t rank, std::uint32_t op) {
    return say_join(size, rank, 1, {DrainStep::resume, id_, op, 0});
  }
  void start(std::uint32_t size) {
    for (std::uint32_t rank = 0; rank < size; ++rank) join_as(size, rank);
    ASSERT_EQ(sent_.size(), size);
    ASSERT_EQ(sent_[0].header.type, PacketType::start);
    epoch_ = sent_[0].header.epoch;
    workers_ = size;
  }
  Decision say(std::uint32_t rank, PacketType type, const wire::Drain& drain) {
    std::array<std::byte, 32> room;
    wire::ExtensionWriter ext(room);
    wire::add_drain(ext, drain);
    return deliver({header(type, rank), ext.bytes(), {}}, peer(rank));
  }
  // A rank asks for a drain; all answer that they have begun so many ops.
  void drain(std::uint32_t op) {
    say(workers_ - 1, PacketType::lease, {DrainStep::wanted, 0, 0, 0});
    ASSERT_EQ(sent_.size(), 1u);
    const auto asked = wire::find_drain(sent_[0].extensions);
    ASSERT_TRUE(asked && asked->step == DrainStep::ask);
    id_ = asked->id;
    for (std::uint32_t rank = 0; rank < workers_; ++rank)
      say(rank, PacketType::lease, {DrainStep::answer, id_, op, 0});
    ASSERT_EQ(wire::find_drain(sent_.at(0).extensions)->step, DrainStep::end);
  }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] PacketType answer() const { return sent_.at(0).header.type; }
  [[nodiscard]] std::uint32_t size() const {
    return wire::find_start_info(sent_.at(0).extensions)->workers;
  }

 private:
  Decision say_join(std::uint32_t size, std::uint32_t rank, int incarnation,
                    const wire::Drain& drain) {
    std::array<std::byte, 48> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(nonce(rank, incarnation));
    wire::add_drain(ext, drain);
    wire::Header h = header(PacketType::join, rank);
    h.fan_in = static_cast<std::uint16_t>(size);
    return deliver({h, ext.bytes(), {}}, peer(rank));
  }
  std::uint64_t id_ = 0;
};

TEST_F(EngineResizeTest, Rule24_AnEpochHasAsManyRanksAsItsJoinsSay) {
  start(2);
  EXPECT_EQ(size(), 2u);
  EXPECT_EQ(sent_[0].header.fan_in, 2u);
  EXPECT_EQ(sent_[0].header.op, 5u) << "the most";
  EXPECT_EQ(sent_[0].header.chunk, 2u) << "the fewest";
  EXPECT_EQ(status().members.size(), 2u);
  contribute(0, 0, {1});
  contribute(1, 0, {2});
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.covered, 2u);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(3));
}

TEST_F(EngineResizeTest, Rule24_SizesBeyondTheLimitsAreRefused) {
  for (const auto& [size, rank] : {std::pair{1u, 0u}, {6u, 0u}, {3u, 3u}, {0u, 0u}}) {
    join_as(size, rank);
    EXPECT_EQ(answer(), PacketType::nack);
    EXPECT_EQ(sent_[0].header.reason, Reason::job_size_mismatch);
  }
  EXPECT_EQ(status().state, JobState::idle);
}

TEST_F(EngineResizeTest, Rule24_RanksThatStartWithDifferentSizesAreRefused) {
  join_as(3, 0);
  join_as(4, 1);
  EXPECT_EQ(answer(), PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, Reason::job_size_mismatch);
  // The first has gone meanwhile: the others are a job of their own.
  now_ = now_ + Duration::ms(600);
  join_as(4, 1);
  EXPECT_EQ(answer(), PacketType::pending);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(0, 2, 3));
}

TEST_F(EngineResizeTest, Rule24_NewcomersWaitForTheEndAndMeetThoseThatGoOn) {
  start(2);
  join_as(4, 2);
  EXPECT_EQ(answer(), PacketType::pending);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(0, 1));
  EXPECT_EQ(status().state, JobState::running);
  drain(7);
  resume(4, 0, 7);
  EXPECT_EQ(answer(), PacketType::pending);
  resume(4, 1, 7);
  EXPECT_EQ(counters().drains.get(), 1u);
  join_as(4, 3);
  EXPECT_EQ(answer(), PacketType::pending);
  resume(4, 0, 7);
  resume(4, 1, 7);
  join_as(4, 2);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(answer(), PacketType::start);
  EXPECT_EQ(size(), 4u);
  workers_ = 4;
  epoch_ = sent_[0].header.epoch;
  complete(0);
  EXPECT_THAT(sent_.at(0).elements<std::int32_t>(), ElementsAre(10));
}

TEST_F(EngineResizeTest, Rule24_ARankThatIsNoMoreLeavesForGood) {
  start(3);
  drain(4);
  resume(2, 0, 4);
  say(2, PacketType::leave, {DrainStep::resume, id(), 4, 0});
  EXPECT_EQ(answer(), PacketType::ack);
  resume(2, 1, 4);
  EXPECT_EQ(answer(), PacketType::pending);
  // The answer was lost: it says so again, and the job is smaller already.
  say(2, PacketType::leave, {DrainStep::resume, id(), 4, 0});
  EXPECT_EQ(answer(), PacketType::ack);
  resume(2, 0, 4);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(size(), 2u);
}

// A JOIN that is late on its way, or of a second process, says nothing of the rank that waits.
TEST_F(EngineResizeTest, Rule24_OnlyTheJoinThatIsAdmittedSaysWhatItsRankCounts) {
  start(3);
  drain(4);
  for (std::uint32_t rank = 0; rank < 2; ++rank) resume(2, rank, 4);
  say(2, PacketType::leave, {DrainStep::resume, id(), 4, 0});
  resume(2, 0, 4);
  EXPECT_EQ(answer(), PacketType::pending);
  EXPECT_EQ(join_as(3, 0).reason, DropReason::duplicate);
  resume(2, 1, 4);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(answer(), PacketType::start);
  EXPECT_EQ(size(), 2u);
}

TEST_F(EngineResizeTest, Rule24_ANewcomerOfAnotherSizeIsRefusedAndTheOthersGoOn) {
  const auto expect_refused = [this] {
    join_as(5, 2);
    EXPECT_EQ(answer(), PacketType::nack);
    EXPECT_EQ(sent_[0].header.reason, Reason::job_size_mismatch);
  };
  start(2);
  drain(1);
  resume(4, 0, 1);
  resume(4, 1, 1);
  expect_refused();
  resume(4, 0, 1);
  EXPECT_EQ(answer(), PacketType::pending);
  now_ = now_ + Duration::ms(600);
  join_as(5, 2);
  EXPECT_EQ(answer(), PacketType::pending) << "the others may be gone";
  resume(4, 0, 1);
  EXPECT_EQ(answer(), PacketType::pending);
  join_as(4, 3);
  EXPECT_EQ(answer(), PacketType::pending) << "a newcomer of the right size";
  expect_refused();
  resume(4, 1, 1);
  EXPECT_EQ(answer(), PacketType::pending);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(2));
  now_ = now_ + Duration::ms(200);
  join_as(4, 2, 1);
  for (const std::uint32_t rank : {0u, 1u}) resume(4, rank, 1);
  join_as(4, 3);
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(size(), 4u);
}

TEST_F(EngineResizeTest, Rule24_ANewcomerThatWaitsForALargerJobMayLeave) {
  start(2);
  drain(1);
  resume(2, 1, 1);
  resume(2, 0, 1);
  join_as(4, 2);
  EXPECT_EQ(answer(), PacketType::pending);
  resume(2, 0, 1);
  EXPECT_THAT(sent_.at(0).missing(), ElementsAre(1));
  deliver(header(PacketType::leave, 2), peer(2));
  EXPECT_EQ(answer(), PacketType::ack);
  join_as(4, 3);
  EXPECT_EQ(answer(), PacketType::pending);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(0, 1, 2));
}

// Newcomers that want another size than the ranks that go on wait for another resize.
TEST_F(EngineResizeTest, Rule24_ThoseThatGoOnPrevail) {
  start(2);
  drain(1);
  resume(3, 0, 1);
  resume(3, 1, 1);
  join_as(5, 4);
  EXPECT_EQ(answer(), PacketType::pending);
  resume(3, 0, 1);
  join_as(5, 4);
  EXPECT_EQ(answer(), PacketType::pending);
  resume(3, 1, 1);
  join_as(3, 2);
  ASSERT_EQ(sent_.size(), 3u);
  EXPECT_EQ(size(), 3u);
}

TEST_F(EngineResizeTest, Rule24_ARankThatIsStartedAnewDoesNotMeetThoseThatGoOn) {
  start(2);
  drain(1);
  resume(3, 0, 1);
  resume(3, 1, 1);
  now_ = now_ + Duration::ms(200);  // no JOIN is so late
  join_as(3, 2);
  join_as(3, 1, 5);
  EXPECT_EQ(answer(), PacketType::pending);
  resume(3, 0, 1);
  EXPECT_EQ(answer(), PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, Reason::rank_restarted);
  EXPECT_EQ(sent_[0].missing(), (std::vector<std::uint32_t>{1}));
}

TEST_F(EngineResizeTest, Rule24_NorDoesOneThatKnowsAnotherSize) {
  start(2);
  drain(1);
  resume(3, 0, 1);
  resume(3, 1, 1);
  now_ = now_ + Duration::ms(200);
  resume(3, 0, 1);
  join_as(2, 1, 5);
  EXPECT_EQ(answer(), PacketType::pending);
  EXPECT_EQ(sent_[0].missing(), (std::vector<std::uint32_t>{0}));
  resume(3, 0, 1);
  EXPECT_EQ(answer(), PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, Reason::rank_restarted);
  EXPECT_EQ(sent_[0].missing(), (std::vector<std::uint32_t>{1}));
}

// A program that is started again may have other ranks: the epoch ends, and one of those begins.
TEST_F(EngineResizeTest, Rule24_AllMayBeginAnewUnderAnotherSize) {
  start(4);
  join_as(2, 0, 1);
  EXPECT_EQ(answer(), PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::rank_restarted);
  join_as(2, 1, 1);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(answer(), PacketType::start);
  EXPECT_EQ(size(), 2u);
}

TEST_F(EngineResizeTest, Rule24_OtherJobsTakeNoWishesFromRanks) {
  build(3);
  start(3);
  say(1, PacketType::lease, {DrainStep::wanted, 0, 0, 0});
  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace tributary::aggregator
