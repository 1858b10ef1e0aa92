// Ranks that take another's place, and when an epoch begins and ends (protocol rule 1).
#include "aggregator/engine/membership.h"

#include <gtest/gtest.h>

#include <array>

#include "core/net/udp_peer.h"

namespace tributary::aggregator {
namespace {

using Join = Membership::Join;

wire::UdpPeer at_port(std::uint16_t port, std::uint16_t udp_port = 1000) {
  wire::UdpPeer p;
  p.port = port;
  p.udp_port = udp_port;
  return p;
}

class MembershipTest : public ::testing::Test {
 protected:
  Membership m_{2, Duration::seconds(1), {}};
  Instant now_ = Instant::from_ns(5'000'000'000);

  void run() {
    m_.join(0, 10, at_port(0), now_);
    ASSERT_EQ(m_.join(1, 11, at_port(1), now_), Join::complete);
    m_.start(1, now_);
  }
  // Another process of rank 0's host joins as that rank.
  Join claim() { return m_.join(0, 20, at_port(0, 2000), now_); }
};

TEST_F(MembershipTest, CompleteOnlyWithAllRanks) {
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::waiting);
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::waiting);
  EXPECT_EQ(m_.join(1, 11, at_port(1), now_), Join::complete);
}

// A rank that was killed while it waited does not begin an epoch with those that came later.
TEST_F(MembershipTest, AnEpochBeginsOnlyWithRanksThatStillWait) {
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::waiting);
  now_ = now_ + Duration::ms(300);
  EXPECT_EQ(m_.join(1, 11, at_port(1), now_), Join::waiting);
  EXPECT_FALSE(m_.all_joined(now_));
  EXPECT_EQ(m_.join(1, 11, at_port(1), now_ + Duration::ms(100)), Join::waiting);
  std::array<std::uint32_t, 4> ids;
  EXPECT_EQ(m_.awaited(ids, now_ + Duration::ms(200)), 1u);
  EXPECT_EQ(ids[0], 0u);
  now_ = now_ + Duration::ms(300);  // restarted from the same place
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_), Join::waiting);
  EXPECT_EQ(m_.join(1, 11, at_port(1), now_), Join::complete);
}

// Live ranks repeat their JOINs: the last one to come starts the epoch at once.
TEST_F(MembershipTest, RanksWhoseLastJoinIsRecentStartAtOnce) {
  m_.join(0, 10, at_port(0), now_);
  EXPECT_EQ(m_.join(1, 11, at_port(1), now_ + Duration::ms(100)), Join::complete);
}

// Below a switch that waits for others: who has come may die before those do.
TEST_F(MembershipTest, ARankThatFallsSilentWhileOthersWaitIsMissingAgain) {
  m_.join(0, 10, at_port(0), now_);
  ASSERT_EQ(m_.join(1, 11, at_port(1), now_), Join::complete);
  now_ = now_ + Duration::ms(600);
  EXPECT_EQ(m_.join(1, 11, at_port(1), now_), Join::waiting);
  EXPECT_FALSE(m_.all_joined(now_));
}

TEST_F(MembershipTest, TwoProcessesForOneRankDoNotBothJoin) {
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::waiting);
  EXPECT_EQ(m_.join(0, 99, at_port(5), now_), Join::occupied);
  now_ = now_ + Duration::seconds(1);  // the first one has gone silent
  EXPECT_EQ(m_.join(0, 99, at_port(5), now_), Join::waiting);
}

// A virtual link created anew, or a bond that failed over, changes the MAC of a process that waits.
TEST_F(MembershipTest, SameNonceMayMoveToAnotherMacUntilItIsActive) {
  wire::UdpPeer moved = at_port(0);
  moved.mac = {2, 0, 0, 0, 0, 9};
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::waiting);
  EXPECT_EQ(m_.join(0, 10, moved, now_), Join::waiting);
  EXPECT_EQ(m_.member(0).peer, moved);
  EXPECT_EQ(m_.join(0, 10, at_port(1), now_), Join::occupied);
  wire::UdpPeer other_address = moved;
  other_address.ipv4 = 5;
  EXPECT_EQ(m_.join(0, 10, other_address, now_), Join::occupied);

  ASSERT_EQ(m_.join(1, 11, at_port(1), now_), Join::complete);
  m_.start(1, now_);
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::repeated);  // START went to the old address
  EXPECT_EQ(m_.member(0).peer, at_port(0));
  ASSERT_TRUE(m_.is_present(0, at_port(0), now_));
  EXPECT_EQ(m_.join(0, 10, moved, now_), Join::occupied);
}

// No two processes of a host have one UDP port.
TEST_F(MembershipTest, RestartFromTheSameUdpPortReplacesAtOnce) {
  run();
  EXPECT_EQ(m_.join(0, 20, at_port(0), now_), Join::restarted);
}

TEST_F(MembershipTest, RestartFromTheSamePlaceReplacesWhoDoesNotAnswerTwoQuestions) {
  run();
  now_ = now_ + Duration::ms(20);
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_), Join::asked);
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_ + Duration::ms(1)), Join::asked) << "in haste";
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_ + Duration::ms(100)), Join::asked);
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_ + Duration::ms(200)), Join::restarted);
}

TEST_F(MembershipTest, ARankThatAnswersKeepsItsPlace) {
  run();
  now_ = now_ + Duration::ms(20);
  EXPECT_EQ(claim(), Join::asked);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(m_.is_present(0, at_port(0), now_ + Duration::us(50)));
    now_ = now_ + Duration::ms(100);
    EXPECT_EQ(claim(), Join::taken);
    EXPECT_TRUE(m_.take_question(0)) << "its answer counts until the next question";
  }
}

// A newcomer repeats its JOIN for as long as its caller waits, so some answers are lost.
TEST_F(MembershipTest, ARankThatHasAnsweredYieldsAfterFiveQuestions) {
  run();
  now_ = now_ + Duration::ms(20);
  EXPECT_EQ(claim(), Join::asked);
  for (int row = 0; row < 3; ++row) {
    ASSERT_TRUE(m_.is_present(0, at_port(0), now_ + Duration::us(50)));
    for (int question = 0; question < 5; ++question) {
      now_ = now_ + Duration::ms(100);
      EXPECT_EQ(claim(), Join::taken);
      EXPECT_TRUE(m_.take_question(0));
    }
  }
  now_ = now_ + Duration::ms(100);
  EXPECT_EQ(claim(), Join::restarted);
}

TEST_F(MembershipTest, ClaimsInHasteAskNoMoreThanOthers) {
  run();
  now_ = now_ + Duration::ms(20);
  int questions = 0;
  for (int ms = 0; ms < 3000; ++ms) {
    for (int copy = 0; copy < 4; ++copy) {
      ASSERT_NE(claim(), Join::restarted) << ms;
      if (!m_.take_question(0)) continue;
      ++questions;
      ASSERT_TRUE(m_.is_present(0, at_port(0), now_ + Duration::us(50)));
    }
    now_ = now_ + Duration::ms(1);
  }
  EXPECT_EQ(questions, 34) << "one in 90 ms";
}

TEST_F(MembershipTest, AClaimFromElsewhereNeverTakesThePlace) {
  run();
  now_ = now_ + Duration::ms(200);
  EXPECT_EQ(m_.join(0, 30, at_port(5), now_), Join::occupied);
  m_.heard(0, now_ - Duration::ms(1));
  EXPECT_EQ(m_.join(0, 30, at_port(5), now_ + Duration::ms(100)), Join::occupied);
  m_.heard(0, now_ + Duration::ms(101));
  for (int i = 2; i < 7; ++i)
    EXPECT_EQ(m_.join(0, 30, at_port(5), now_ + Duration::ms(100) * i), Join::taken);
  for (int i = 7; i < 11; ++i)
    EXPECT_EQ(m_.join(0, 30, at_port(5), now_ + Duration::ms(100) * i), Join::occupied) << i;
}

// An old claim is no question that went unanswered.
TEST_F(MembershipTest, AClaimThatIsNotRepeatedLapses) {
  run();
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_), Join::asked);
  now_ = now_ + Duration::ms(999);
  ASSERT_TRUE(m_.is_present(0, at_port(0), now_));
  now_ = now_ + Duration::ms(900);
  EXPECT_EQ(m_.join(0, 30, at_port(0, 3000), now_), Join::asked);
}

// Both wait: the first one's next JOIN is its answer.
TEST_F(MembershipTest, TwoProcessesOfOneHostDoNotTakeTurnsWhileTheyWait) {
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::waiting);
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_ + Duration::ms(50)), Join::asked);
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_ + Duration::ms(100)), Join::waiting);
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_ + Duration::ms(150)), Join::taken);
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_ + Duration::ms(500)), Join::taken);
  EXPECT_EQ(m_.join(0, 20, at_port(0, 2000), now_ + Duration::ms(600)), Join::waiting) << "it died";
}

TEST_F(MembershipTest, BoundToItsPlaceWhileTheLeaseLasts) {
  run();
  EXPECT_EQ(m_.join(0, 20, at_port(7), now_), Join::occupied);
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::repeated);
  EXPECT_EQ(m_.join(0, 10, at_port(0, 2000), now_), Join::occupied);
}

TEST_F(MembershipTest, NonceThatHadItsEpochIsStale) {
  run();
  ASSERT_TRUE(m_.is_present(0, at_port(0), now_));
  m_.abort();
  EXPECT_EQ(m_.join(0, 10, at_port(0), now_), Join::stale);
  EXPECT_EQ(m_.join(1, 11, at_port(1), now_), Join::waiting);  // never got its START
  EXPECT_EQ(m_.join(0, 20, at_port(0), now_), Join::complete);
}

TEST_F(MembershipTest, NextRunWaitsForTheLastOneToEnd) {
  run();
  m_.leave(0);
  EXPECT_EQ(m_.join(0, 20, at_port(0), now_), Join::closing);
  std::array<std::uint32_t, 4> ids;
  EXPECT_EQ(m_.awaited(ids, now_), 1u);
  EXPECT_EQ(ids[0], 1u);
  m_.leave(1);
  EXPECT_EQ(m_.state(), JobState::idle);
  EXPECT_EQ(m_.join(0, 20, at_port(0), now_), Join::waiting);
}

TEST_F(MembershipTest, WhoFallsSilentHasNotLeft) {
  m_.join(0, 10, at_port(0), now_);
  now_ = now_ + Duration::seconds(1);
  EXPECT_EQ(m_.lapsed(now_), m_.workers());
  EXPECT_FALSE(m_.member(0).joined || m_.member(0).left);
  m_.join(0, 10, at_port(0), now_);
  m_.leave(0);
  EXPECT_TRUE(m_.member(0).left);
  m_.join(0, 11, at_port(0), now_);
  EXPECT_FALSE(m_.member(0).left);
}

TEST_F(MembershipTest, LapseIsExactToTheNanosecond) {
  run();
  EXPECT_EQ(m_.lapsed(now_ + Duration::ns(999'999'999)), 2u);
  m_.is_present(0, at_port(0), now_ + Duration::ms(500));
  EXPECT_EQ(m_.lapsed(now_ + Duration::seconds(1)), 1u);
}

}  // namespace
}  // namespace tributary::aggregator
