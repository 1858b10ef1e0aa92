#include "dataplane/switch/client_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

using testing::Eq;
using testing::Optional;

constexpr Duration kLongest = Duration::seconds(3);

Instant at(std::int64_t ms) {
  return Instant() + Duration::ms(ms);
}

TEST(ClientWatch, TellsOfAClientThatStaysAwayUntilAllJobsKnow) {
  ClientWatch watch;
  EXPECT_FALSE(watch.look({true, 0}, kLongest, at(0)));
  EXPECT_FALSE(watch.look({false, 1}, kLongest, at(100)));
  EXPECT_FALSE(watch.look({false, 1}, kLongest, at(1000)));
  EXPECT_THAT(watch.look({false, 1}, kLongest, at(1100)), Optional(Eq(Duration::seconds(1))));
  EXPECT_FALSE(watch.look({false, 1}, kLongest, at(1200)));
  EXPECT_THAT(watch.look({false, 1}, kLongest, at(2100)), Optional(Eq(Duration::seconds(2))));
  EXPECT_THAT(watch.look({false, 1}, kLongest, at(3100)), Optional(Eq(Duration::seconds(3))));
  EXPECT_FALSE(watch.look({false, 1}, kLongest, at(9000)));
}

TEST(ClientWatch, AClientThatCameAndWentBetweenTwoLooksIsNotGoneForLong) {
  ClientWatch watch;
  EXPECT_FALSE(watch.look({false, 1}, kLongest, at(0)));
  EXPECT_FALSE(watch.look({false, 2}, kLongest, at(1500)));
  EXPECT_FALSE(watch.look({false, 2}, kLongest, at(2400)));
  EXPECT_THAT(watch.look({false, 2}, kLongest, at(2500)), Optional(Eq(Duration::seconds(1))));
}

TEST(ClientWatch, BeginsAnewAfterAConnection) {
  ClientWatch watch;
  EXPECT_FALSE(watch.look({false, 1}, kLongest, at(0)));
  EXPECT_FALSE(watch.look({true, 1}, kLongest, at(900)));
  EXPECT_FALSE(watch.look({false, 2}, kLongest, at(1000)));
  EXPECT_FALSE(watch.look({false, 2}, kLongest, at(1900)));
}

// A process that has ended comes back no more; one that took its place meanwhile says so by its
// JOIN.
TEST(ClientWatch, TellsAtOnceOfAClientOfTheLibraryThatDied) {
  ClientWatch watch;
  EXPECT_FALSE(watch.look({true, 0, 0}, kLongest, at(0)));
  EXPECT_THAT(watch.look({false, 1, 1}, kLongest, at(100)), Optional(Eq(ClientWatch::kForGood)));
  EXPECT_FALSE(watch.look({false, 1, 1}, kLongest, at(9000)));
  EXPECT_FALSE(watch.look({true, 2, 2}, kLongest, at(9100))) << "another one is there";
  EXPECT_FALSE(watch.look({false, 3, 2}, kLongest, at(9200))) << "the switch ended the connection";
}

}  // namespace
}  // namespace tributary::dataplane
