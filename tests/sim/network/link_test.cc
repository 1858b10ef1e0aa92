#include "sim/network/link.h"

#include <gtest/gtest.h>

namespace tributary::sim {
namespace {

constexpr Instant kNever = Instant::max();
Instant us(std::int64_t n) {
  return Instant() + Duration::us(n);
}

TEST(Link, KeepsOrderUnlessToldToReorder) {
  LinkQuality quality;
  quality.delay_min = Duration::us(1);
  quality.delay_max = Duration::us(500);
  Link link(quality, kNever, 1);
  Instant last;
  for (int i = 0; i < 1000; ++i) {
    const Transmission t = link.transmit(100, us(i));
    EXPECT_GE(t.at, last);
    EXPECT_GE(t.at, us(i) + quality.delay_min);
    last = t.at;
  }
}

TEST(Link, SerialisesAtItsRateAndDropsWhatTheQueueCannotHold) {
  LinkQuality quality;
  quality.delay_min = quality.delay_max = Duration::us(10);
  quality.bits_per_second = 8'000'000;  // a byte a microsecond
  quality.queue_bytes = 250;
  Link link(quality, kNever, 1);
  EXPECT_EQ(link.transmit(100, us(0)).at, us(110));
  EXPECT_EQ(link.transmit(100, us(0)).at, us(210));
  EXPECT_FALSE(link.transmit(100, us(0)).sent) << "200 bytes wait, 250 fit";
  EXPECT_EQ(link.transmit(100, us(60)).at, us(310));
}

// Rule 15: as queues do, before they drop.
TEST(Link, MarksWhatFindsALongQueue) {
  LinkQuality quality;
  quality.bits_per_second = 8'000'000;  // a byte a microsecond
  quality.queue_bytes = 1000;
  quality.mark_bytes = 200;
  Link link(quality, kNever, 1);
  EXPECT_FALSE(link.transmit(100, us(0)).marked);
  EXPECT_FALSE(link.transmit(100, us(0)).marked);
  EXPECT_TRUE(link.transmit(100, us(0)).marked);
  EXPECT_FALSE(link.transmit(100, us(101)).marked);
}

TEST(Link, MarksAtTheRateAskedFor) {
  LinkQuality quality;
  quality.mark_ppm = 100'000;
  Link link(quality, us(10'000), 7);
  int marked = 0;
  for (int i = 0; i < 10'000; ++i) marked += link.transmit(100, us(i)).marked ? 1 : 0;
  EXPECT_NEAR(marked, 1000, 150);
  for (int i = 10'000; i < 11'000; ++i) EXPECT_FALSE(link.transmit(100, us(i)).marked);
}

TEST(Link, FaultRatesAreThoseAskedForAndEndWhenTheNetworkHeals) {
  LinkQuality quality;
  quality.loss_ppm = 100'000;
  quality.duplicate_ppm = 200'000;
  const Instant heal = us(10'000'000);
  Link link(quality, heal, 7);
  int lost = 0;
  int doubled = 0;
  for (int i = 0; i < 10'000; ++i) {
    doubled += link.transmit(100, us(i)).duplicated ? 1 : 0;
    lost += link.arrive(us(i)) == Fate::lost ? 1 : 0;
  }
  EXPECT_NEAR(lost, 1000, 150);
  EXPECT_NEAR(doubled, 2000, 200);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(link.transmit(100, heal).duplicated);
    EXPECT_EQ(link.arrive(heal), Fate::delivered);
  }
}

TEST(Link, CutsLastFromTheirBeginToTheirEnd) {
  Link link({}, kNever, 1);
  link.cut(us(10), us(20), true);
  link.cut(us(30), us(40), false);
  EXPECT_EQ(link.arrive(us(9)), Fate::delivered);
  EXPECT_EQ(link.arrive(us(10)), Fate::cut);
  EXPECT_EQ(link.arrive(us(20)), Fate::delivered);
  EXPECT_FALSE(link.down(us(15))) << "a partition is silent";
  EXPECT_TRUE(link.down(us(30)));
  EXPECT_FALSE(link.down(us(40)));
}

TEST(Link, CarriesNothingWhileItIsPulledOut) {
  Link link({}, kNever, 1);
  link.plug(false);
  EXPECT_TRUE(link.down(us(1)));
  EXPECT_EQ(link.arrive(us(1)), Fate::cut) << "what was under way is lost";
  link.plug(true);
  EXPECT_FALSE(link.down(us(2)));
  EXPECT_EQ(link.arrive(us(2)), Fate::delivered);
}

TEST(Link, TheSeedDecides) {
  LinkQuality quality;
  quality.reorder_ppm = 500'000;
  Link a(quality, kNever, 3);
  Link b(quality, kNever, 3);
  Link c(quality, kNever, 4);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const Instant at = a.transmit(100, us(i)).at;
    EXPECT_EQ(at, b.transmit(100, us(i)).at);
    differs = differs || at != c.transmit(100, us(i)).at;
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace tributary::sim
