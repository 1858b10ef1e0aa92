// What switches may take and refuse, by who sent it.
#include "sim/rules/refusal_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

using aggregator::Verdict;
using wire::PacketType;

class RefusalCheckerTest : public SmallWorld {
 protected:
  void judge(DropReason reason) {
    wire::Packet packet;
    packet.header = header_of(PacketType::contribution);
    RefusalChecker(run_).check_honest(*switch_, packet, {Verdict::dropped, reason});
  }
  void forged(PacketType type, Verdict verdict) {
    const wire::Header header = header_of(type);
    RefusalChecker(run_).check_forged(frame_of(header), header, verdict);
  }
  void refuse(const FrameRef& frame, DropReason reason) {
    RefusalChecker(run_).check_refused(*switch_, frame, reason);
  }
};

TEST_F(RefusalCheckerTest, AnHonestPacketMayBeLate) {
  build();
  judge(DropReason::none);
  judge(DropReason::duplicate);
  judge(DropReason::stale_epoch);
  judge(DropReason::beyond_window);
  EXPECT_EQ(violation(), "");
  judge(DropReason::bad_child);
  EXPECT_NE(violation().find("an honest"), std::string::npos) << violation();
}

TEST_F(RefusalCheckerTest, InATreeThatChangesAPacketMayBeForTheOldPlace) {
  build();
  scenario_.changes.resize(1);
  judge(DropReason::bad_child);
  EXPECT_EQ(violation(), "");
  judge(DropReason::op_mismatch);
  EXPECT_NE(violation(), "") << "no ranks of this job disagree";
}

TEST_F(RefusalCheckerTest, Rule4_NoResultIsGivenUpThatItsRankLacks) {
  build();
  world_.start_all();
  while (ranks_[0]->session()->state() != worker::SessionState::running) ASSERT_TRUE(world_.step());
  wire::Packet packet;
  packet.header = header_of(PacketType::probe);
  packet.header.epoch = ranks_[0]->session()->epoch();
  packet.header.seq = scenario_.first_seq + 100'000;
  RefusalChecker refusals(run_);
  refusals.check_honest(*switch_, packet, {Verdict::answered, DropReason::duplicate});
  EXPECT_EQ(violation(), "");
  refusals.check_honest(*switch_, packet, {Verdict::answered, DropReason::stale_seq});
  EXPECT_EQ(violation(), "the switch gave up seq 100000 of shard 0 that job 1 rank 0 still lacks");
}

TEST_F(RefusalCheckerTest, AForgedPacketMayBeAnsweredButNotTaken) {
  build();
  forged(PacketType::contribution, Verdict::answered);
  forged(PacketType::contribution, Verdict::dropped);
  EXPECT_EQ(violation(), "");
  forged(PacketType::contribution, Verdict::folded);
  EXPECT_NE(violation().find("a forged packet was taken for true"), std::string::npos);
}

TEST_F(RefusalCheckerTest, AForgedPacketMayNotPassForTheSwitchAbove) {
  build();
  forged(PacketType::result, Verdict::refused);
  EXPECT_EQ(violation(), "");
  forged(PacketType::result, Verdict::noted);
  EXPECT_NE(violation().find("passed for one of the switch above"), std::string::npos);
}

TEST_F(RefusalCheckerTest, AnIntactFrameIsRefusedOnlyWhereSwitchesMove) {
  build();
  const FrameRef frame = frame_of(header_of(PacketType::contribution));
  FrameRef broken = world_.frames().copy(frame);
  broken.writable().truth.corrupted = true;
  refuse(broken, DropReason::own_address);
  scenario_.changes.resize(1);
  scenario_.changes[0].moved_switch = 0;
  refuse(frame, DropReason::own_address);
  EXPECT_EQ(violation(), "");
  scenario_.changes.clear();
  refuse(frame, DropReason::own_address);
  EXPECT_NE(violation().find("refused an intact frame"), std::string::npos) << violation();
}

TEST_F(RefusalCheckerTest, Rule18_NoRankHearsAForgedFrameOfItsSwitch) {
  build();
  RefusalChecker refusals(run_);
  FrameRef frame = frame_of(header_of(PacketType::result));
  refusals.check_heard(*ranks_[1], frame);
  frame.writable().truth.forged = true;
  refusals.check_heard(*ranks_[1], frame);
  EXPECT_EQ(violation(), "") << "it bears another rank's address, and goes to no group";
  Draft draft = *take_apart(frame.bytes());
  draft.around.endpoints.source_ip = ranks_[1]->options().switch_ipv4;
  frame = put_together(world_.frames(), draft);
  frame.writable().truth.forged = true;
  refusals.check_heard(*ranks_[1], frame);
  EXPECT_NE(violation().find("job 1 rank 1 has heard a forged frame"), std::string::npos);
}

}  // namespace
}  // namespace tributary::sim
