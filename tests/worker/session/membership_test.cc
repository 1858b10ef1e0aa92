#include "worker/session/membership.h"

#include <gtest/gtest.h>

namespace tributary::worker {
namespace {

using Step = Membership::Step;
using wire::PacketType;
using wire::Reason;

const Instant kStart = Instant::from_ns(1'000'000);

wire::Header packet(PacketType type, std::uint16_t epoch = 7, Reason reason = Reason::none) {
  wire::Header h;
  h.type = type;
  h.epoch = epoch;
  h.reason = reason;
  return h;
}

class MembershipTest : public ::testing::Test {
 protected:
  void admit() {
    wire::Header start = packet(PacketType::start);
    start.child = 1;
    start.fan_in = 2;
    EXPECT_TRUE(membership.admit(start));
  }

  Membership membership{kStart, Duration::ms(250), 5, 9};
};

TEST_F(MembershipTest, JoinIsDueEvery100msUntilTheLimit) {
  EXPECT_EQ(membership.poll_join(kStart), Step::send);
  EXPECT_EQ(membership.poll_join(kStart), Step::wait);
  EXPECT_EQ(membership.next_join(), kStart + Duration::ms(100));
  EXPECT_EQ(membership.poll_join(kStart + Duration::ms(100)), Step::send);
  EXPECT_EQ(membership.poll_join(kStart + Duration::ms(200)), Step::send);
  EXPECT_EQ(membership.next_join(), kStart + Duration::ms(250));
  EXPECT_EQ(membership.poll_join(kStart + Duration::ms(250)), Step::give_up);
}

TEST_F(MembershipTest, StartSaysWhichPlaceAndEpoch) {
  EXPECT_EQ(membership.child(), 5);
  EXPECT_EQ(membership.fan_in(), 9);
  admit();
  EXPECT_EQ(membership.child(), 1);
  EXPECT_EQ(membership.fan_in(), 2);
  EXPECT_EQ(membership.epoch(), 7);
}

// The switch holds this rank all the same: it has to leave, and in that epoch.
TEST_F(MembershipTest, APlaceThatCannotBeIsNotTakenButIsLeft) {
  wire::Header start = packet(PacketType::start);
  start.child = start.fan_in = 2;
  EXPECT_FALSE(membership.admit(start));
  EXPECT_EQ(membership.epoch(), 7);
  EXPECT_TRUE(membership.leave(kStart));
}

TEST_F(MembershipTest, ThereIsSomethingToLeaveOnlyWhereTheSwitchHoldsThisRank) {
  EXPECT_FALSE(membership.leave(kStart));
  membership.wait();
  EXPECT_TRUE(membership.leave(kStart));
  EXPECT_FALSE(membership.refuse(packet(PacketType::nack, 0, Reason::unknown_job), kStart));
  EXPECT_FALSE(membership.leave(kStart));
  admit();
  EXPECT_TRUE(membership.leave(kStart));
  membership.end();
  EXPECT_FALSE(membership.leave(kStart));
}

TEST_F(MembershipTest, RefusalsThatALeaseOrAnotherSwitchMendsAreNotFinal) {
  for (const Reason reason : {Reason::sender_mismatch, Reason::configuration_changed,
                              Reason::other_run, Reason::planes_mismatch})
    EXPECT_TRUE(membership.refuse(packet(PacketType::nack, 0, reason), kStart));
  EXPECT_EQ(membership.last_refusal().reason, Reason::planes_mismatch);
  membership.wait();
  EXPECT_EQ(membership.last_refusal().reason, Reason::none);
  EXPECT_FALSE(membership.refuse(packet(PacketType::nack, 0, Reason::unknown_job), kStart));
}

// Its switches read a change one after the other.
TEST_F(MembershipTest, Rule22_ARankThatGoesOnOutlastsForSomeTimeThatItsJobIsNotThere) {
  Membership going{kStart, Duration::seconds(600), 5, 9, true};
  const auto refused = [&](std::int64_t seconds) {
    return !going.refuse(packet(PacketType::nack, 0, Reason::unknown_job),
                         kStart + Duration::seconds(seconds));
  };
  EXPECT_FALSE(refused(0));
  EXPECT_FALSE(refused(29));
  EXPECT_TRUE(refused(30));
  going.wait();
  EXPECT_FALSE(refused(100)) << "it was there in between";
  EXPECT_TRUE(going.refuse(packet(PacketType::nack, 0, Reason::configuration_changed),
                           kStart + Duration::seconds(120)));
  EXPECT_FALSE(refused(131));
}

TEST_F(MembershipTest, ARefusalThatNamesAnAddressIsOfAProcessThatHasTheRank) {
  wire::Header nack = packet(PacketType::nack, 0, Reason::sender_mismatch);
  EXPECT_TRUE(membership.refuse(nack, kStart));
  EXPECT_FALSE(membership.is_taken());
  nack.slot = 1;
  EXPECT_TRUE(membership.refuse(nack, kStart));
  EXPECT_TRUE(membership.is_taken());
  EXPECT_FALSE(membership.leave(kStart)) << "the place is the other's";
  membership.wait();
  EXPECT_FALSE(membership.is_taken());
}

TEST_F(MembershipTest, LeaveIsDueThreeTimes20msApart) {
  admit();
  ASSERT_TRUE(membership.leave(kStart));
  for (int i = 0; i < 3; ++i) {
    const Instant at = kStart + Duration::ms(20) * i;
    EXPECT_EQ(membership.next_leave(), at);
    EXPECT_EQ(membership.poll_leave(at), Step::send);
    EXPECT_EQ(membership.poll_leave(at), Step::wait);
  }
  EXPECT_EQ(membership.poll_leave(kStart + Duration::ms(60)), Step::give_up);
}

TEST_F(MembershipTest, HasLeftWhenThisEpochsSwitchSaysSo) {
  admit();
  EXPECT_TRUE(membership.is_left(packet(PacketType::ack)));
  EXPECT_TRUE(membership.is_left(packet(PacketType::abort)));
  EXPECT_TRUE(membership.is_left(packet(PacketType::nack, 7, Reason::unknown_job)));
  EXPECT_FALSE(membership.is_left(packet(PacketType::nack, 7, Reason::sender_mismatch)));
  EXPECT_FALSE(membership.is_left(packet(PacketType::result)));
  EXPECT_FALSE(membership.is_left(packet(PacketType::ack, 6)));
}

}  // namespace
}  // namespace tributary::worker
