// Ranks of two starts of a program form no epoch (protocol rule 1): at one switch, below
// another one, and above it.
#include <gmock/gmock.h>

#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::SizeIs;
using wire::PacketType;
using wire::Reason;

constexpr std::uint64_t kFirst = 0x1111;
constexpr std::uint64_t kSecond = 0x2222;
constexpr std::uint64_t kUnknown = 0;

// JOIN with a nonce and a run, in room that outlives it.
struct Join {
  Join(wire::Header h, std::uint64_t nonce, std::uint64_t run) : writer(room) {
    writer.add_nonce(nonce);
    if (run != kUnknown) writer.add_run_id(run);
    packet = {h, writer.bytes(), {}};
  }
  std::array<std::byte, 32> room{};
  wire::ExtensionWriter writer;
  wire::Packet packet;
};

class RunsTest : public EngineTest {
 protected:
  Decision join_run(std::uint32_t rank, std::uint64_t run, int incarnation = 0) {
    const Join made(header(PacketType::join, rank), nonce(rank, incarnation), run);
    return deliver(made.packet, peer(rank, static_cast<std::uint16_t>(5000 + incarnation)));
  }
  [[nodiscard]] PacketType answer() const { return sent_.at(0).header.type; }
};

TEST_F(RunsTest, Rule1_ARankOfAnotherRunIsRefusedAndToldWhoWaits) {
  build(3);
  join_run(0, kFirst);
  join_run(1, kSecond);
  ASSERT_THAT(sent_, SizeIs(1));
  const wire::Header& h = sent_[0].header;
  EXPECT_EQ(h.type, PacketType::nack);
  EXPECT_EQ(wire::find_nonce(sent_[0].extensions), nonce(1, 0));
  EXPECT_EQ(read_refusal(h), (JoinRefusal{Reason::other_run, 0, 0x0A4D0000, 5000, 0}));
  EXPECT_EQ(counters().nacks.get(), 1u);
  join_run(2, kFirst);
  EXPECT_EQ(answer(), PacketType::pending);
  EXPECT_EQ(sent_[0].missing(), std::vector<std::uint32_t>{1}) << "who is refused is not here";
  join_run(1, kFirst, 1);
  EXPECT_EQ(answer(), PacketType::start);
}

TEST_F(RunsTest, Rule1_TheNextRunMeetsWhenTheLastOneHasGoneOrLeft) {
  build(2);
  join_run(0, kFirst);
  now_ = now_ + Duration::ms(400);
  join_run(1, kSecond);
  EXPECT_EQ(answer(), PacketType::nack) << "heard lately";
  now_ = now_ + Duration::ms(100);
  join_run(1, kSecond);
  EXPECT_EQ(answer(), PacketType::pending) << "it does not repeat its JOIN any more";
  join_run(0, kFirst);
  EXPECT_EQ(answer(), PacketType::nack) << "it comes back, and others have its place";
  EXPECT_EQ(sent_[0].header.origin, 1u);
  join_run(0, kSecond, 1);
  EXPECT_EQ(answer(), PacketType::start);
}

TEST_F(RunsTest, Rule1_WhoNamesNoRunMeetsAny) {
  build(3);
  join_run(0, kUnknown);
  join_run(1, kFirst);
  EXPECT_EQ(answer(), PacketType::pending);
  join_run(2, kSecond);
  EXPECT_EQ(answer(), PacketType::nack);
  EXPECT_EQ(sent_[0].header.origin, 1u) << "not rank 0, which may be of this run";
  join_run(2, kUnknown, 1);
  EXPECT_EQ(answer(), PacketType::start);
}

// In an epoch the ranks have met; its next one is of the run that comes for it.
TEST_F(RunsTest, Rule1_ARankThatIsStartedAnewEndsTheEpochOfTheRunBefore) {
  build(2);
  join_run(0, kFirst);
  join_run(1, kFirst);
  epoch_ = sent_.at(0).header.epoch;
  EXPECT_EQ(join_run(0, kSecond, 1).verdict, Verdict::answered);  // the old process is asked
  now_ = now_ + Duration::seconds(1);
  EXPECT_EQ(join_run(0, kSecond, 1).verdict, Verdict::epoch_aborted);
  join_run(1, kFirst);
  EXPECT_EQ(answer(), PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, Reason::other_run);
  join_run(1, kSecond, 1);
  EXPECT_EQ(answer(), PacketType::start);
}

class RunsBelow : public LeafTest {
 protected:
  Decision join_run(std::uint32_t rank, std::uint64_t run) {
    const Join made(header(PacketType::join, rank), nonce(rank, 0), run);
    return deliver(made.packet, place(rank));
  }
};

TEST_F(RunsBelow, Rule1_ASwitchNamesTheRunOfItsRanksAndPassesTheRefusalOn) {
  join_run(0, kFirst);
  join_run(2, kFirst);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(wire::find_run_id(up()[0].extensions), kFirst);
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(join_nonce());
  wire::Header h = from_parent(PacketType::nack);
  h.epoch = 0;
  const JoinRefusal why{Reason::other_run, 1, 0x0A4D0001, 5000, 0};
  write_refusal(why, h);
  deliver({h, ext.bytes(), {}}, parent());
  join_run(0, kFirst);
  EXPECT_EQ(read_refusal(sent_.at(0).header), why);
}

TEST_F(RunsBelow, Rule1_ASwitchWhoseRanksNameNoRunNamesNone) {
  join_run(0, kUnknown);
  join_run(2, kUnknown);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(wire::find_run_id(up()[0].extensions), kUnknown);
}

class RunsAbove : public RootTest {};

TEST_F(RunsAbove, Rule1_ARankIsToldOfOneBelowASwitch) {
  wire::Header h = from_leaf(PacketType::join);
  h.epoch = 0;
  deliver(Join(h, 9, kFirst).packet, leaf());
  deliver(Join(header(PacketType::join, 1), nonce(1, 0), kSecond).packet, worker());
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(read_refusal(sent_[0].header),
            (JoinRefusal{Reason::other_run, 0, kLeafIpv4, 47000, 0}));
}

}  // namespace
}  // namespace tributary::aggregator
