// Congestion marks that results tell of, and windows of ranks that are equally far.
#include "sim/rules/congestion_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

using aggregator::Verdict;

class CongestionCheckerTest : public SmallWorld {
 protected:
  CongestionCheckerTest() {
    scenario_.links.mark_ppm = 1;
    build();
    congestion_.emplace(run_);
  }
  void data(std::uint32_t rank, bool marked, std::uint32_t flags = 0) {
    wire::Packet packet;
    packet.header = header_of(wire::PacketType::contribution);
    packet.header.origin = rank;
    packet.header.flags = flags;
    packet.congestion_experienced = marked;
    congestion_->packet_judged(*switch_, packet, {Verdict::opened});
  }
  void result(std::uint32_t flags, std::uint8_t attempt = 0) {
    auto header = header_of(wire::PacketType::result);
    header.flags = flags;
    header.attempt = attempt;
    congestion_->check_result("switch", header);
  }

  std::optional<CongestionChecker> congestion_;
};

TEST_F(CongestionCheckerTest, Rule15_AResultTellsOfAMark) {
  data(0, false);
  data(1, true);
  result(wire::kFlagCe);
  EXPECT_EQ(violation(), "");
  EXPECT_EQ(run_.reach().marked_results, 1u);
  result(0);
  EXPECT_EQ(violation(), "switch says nothing of a mark in the result of job 1 shard 0 seq 0");
}

TEST_F(CongestionCheckerTest, MarksAfterTheResultChangeNothing) {
  data(0, false);
  result(0);
  data(1, true);
  result(0);
  EXPECT_EQ(violation(), "");
}

TEST_F(CongestionCheckerTest, ACopyWithoutTheMarkMayHaveComeFirst) {
  data(0, true);
  data(0, false);
  result(0);
  EXPECT_EQ(violation(), "");
}

TEST_F(CongestionCheckerTest, DataThatIsSentAgainMayHaveLostItsMark) {
  data(0, true);
  data(0, false, wire::kFlagResend);
  result(0);
  EXPECT_EQ(violation(), "");
}

TEST_F(CongestionCheckerTest, ASecondAttemptAndADegradedResultAreExcused) {
  data(0, true);
  result(0, 1);
  result(wire::kFlagDegraded);
  EXPECT_EQ(violation(), "");
}

TEST_F(CongestionCheckerTest, ANewEpochForgetsMarks) {
  data(0, true);
  congestion_->epoch_started(1);
  result(0);
  EXPECT_EQ(violation(), "");
}

TEST_F(CongestionCheckerTest, Rule15_RanksThatAreEquallyFarHaveTheSameWindow) {
  congestion_->check_window(*ranks_[0], {1, 1, 0, 40}, 4);
  congestion_->check_window(*ranks_[1], {1, 1, 0, 41}, 3);
  congestion_->check_window(*ranks_[1], {1, 1, 0, 40}, 4);
  EXPECT_EQ(violation(), "");
  congestion_->check_window(*ranks_[1], {1, 1, 0, 40}, 3);
  EXPECT_EQ(violation(), "job 1 rank 1 has a window of 3 from seq 40 of shard 0, another has 4");
}

}  // namespace
}  // namespace tributary::sim
