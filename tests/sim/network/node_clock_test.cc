#include "sim/network/node_clock.h"

#include <gtest/gtest.h>

namespace tributary::sim {
namespace {

// world() is the first instant at which local() has come: no wake-up is early, none is late.
TEST(NodeClock, WakesExactlyWhenTheOwnClockSaysSo) {
  for (const std::int32_t drift : {-1000, -50, -1, 0, 1, 50, 1000}) {
    const NodeClock clock(Duration::ms(123), drift);
    for (const std::int64_t ns :
         {0LL, 1LL, 999'999LL, 1'000'000LL, 123'456'789LL, 59'000'000'000LL, 3'600'000'000'001LL}) {
      const Instant local = Instant::from_ns(ns) + Duration::ms(123);
      const Instant world = clock.world(local);
      EXPECT_GE(clock.local(world), local) << drift << " ppm, " << ns << " ns";
      if (world == Instant()) continue;
      EXPECT_LT(clock.local(world - Duration::ns(1)), local) << drift << " ppm, " << ns << " ns";
    }
  }
}

TEST(NodeClock, DriftsByPartsPerMillion) {
  const NodeClock fast(Duration(), 100);
  EXPECT_EQ(fast.local(Instant() + Duration::seconds(10)),
            Instant() + Duration::seconds(10) + Duration::ms(1));
}

}  // namespace
}  // namespace tributary::sim
