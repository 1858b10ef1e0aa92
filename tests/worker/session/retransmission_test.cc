#include "worker/session/retransmission.h"

#include <gtest/gtest.h>

namespace tributary::worker {
namespace {

const Instant kStart = Instant::from_ns(1'000'000);

// RFC 6298, with a floor for shared cores.
TEST(RetransmissionTimeout, IsSmoothedTimePlusFourDeviationsWithinBounds) {
  RetransmissionTimeout t;
  EXPECT_EQ(t.current(), Duration::ms(20));
  t.sample(Duration::ms(16));
  EXPECT_EQ(t.current(), Duration::ms(16 + 4 * 8));
  t.sample(Duration::ms(24));  // gains 1/8 and 1/4
  EXPECT_EQ(t.smoothed(), Duration::ms(17));
  EXPECT_EQ(t.current(), Duration::ms(17 + 4 * 8));
  t.sample(Duration::ms(17));
  EXPECT_EQ(t.current(), Duration::ms(17 + 4 * 6));
  for (int i = 0; i < 200; ++i) t.sample(Duration::us(50));
  EXPECT_EQ(t.current(), Duration::ms(10));
  for (int i = 0; i < 200; ++i) t.sample(Duration::seconds(3));
  EXPECT_EQ(t.current(), Duration::ms(200));
}

// A steady delay needs no margin; a varying one gets it.
TEST(RetransmissionTimeout, FollowsTheVariation) {
  RetransmissionTimeout steady;
  RetransmissionTimeout varying;
  for (int i = 0; i < 400; ++i) {
    steady.sample(Duration::ms(20));
    varying.sample(Duration::ms(i % 2 == 0 ? 10 : 30));
  }
  EXPECT_LT(steady.current(), Duration::ms(21));
  EXPECT_GT(varying.current(), Duration::ms(55));
}

TEST(RetransmissionTimeout, BackoffDoublesUpToASecond) {
  RetransmissionTimeout t;
  EXPECT_EQ(t.current(1), Duration::ms(40));
  EXPECT_EQ(t.current(5), Duration::ms(640));
  EXPECT_EQ(t.current(6), Duration::seconds(1));
  EXPECT_EQ(t.current(TimerLists::kMaxBackoff), Duration::seconds(1));
}

TEST(RetransmissionTimeout, ReorderingIsAQuarterOfTheSmoothedTimeAndDoubles) {
  RetransmissionTimeout t;
  EXPECT_EQ(t.reordering(0), Duration::ms(1));
  EXPECT_EQ(t.reordering(3), Duration::ms(8));
  EXPECT_EQ(t.reordering(TimerLists::kMaxBackoff), t.current());
  t.sample(Duration::ms(40));
  EXPECT_EQ(t.reordering(0), Duration::ms(10));
}

constexpr auto kTimeout = [](std::uint8_t k) { return Duration::ms(20) * (1 << k); };

TEST(TimerLists, ExpireInOrderWhateverTheBackoff) {
  std::vector<ChunkState> chunks(4);
  TimerLists timers;
  chunks[1].backoff = 1;
  timers.arm(chunks, 0, kStart);                     // 20 ms
  timers.arm(chunks, 1, kStart);                     // 40 ms
  timers.arm(chunks, 2, kStart + Duration::ms(5));   // 25 ms
  timers.arm(chunks, 3, kStart + Duration::ms(10));  // 30 ms
  EXPECT_EQ(timers.next_expiry(chunks, kTimeout), kStart + Duration::ms(20));
  EXPECT_EQ(timers.expired(chunks, kTimeout, kStart + Duration::ms(19)), kNoChunk);
  EXPECT_EQ(timers.expired(chunks, kTimeout, kStart + Duration::ms(20)), 0u);
  timers.cancel(chunks, 0);
  timers.cancel(chunks, 2);  // from the middle
  EXPECT_EQ(timers.expired(chunks, kTimeout, kStart + Duration::ms(29)), kNoChunk);
  EXPECT_EQ(timers.expired(chunks, kTimeout, kStart + Duration::ms(30)), 3u);
  timers.cancel(chunks, 3);
  EXPECT_EQ(timers.expired(chunks, kTimeout, kStart + Duration::ms(40)), 1u);
  timers.cancel(chunks, 1);
  EXPECT_EQ(timers.next_expiry(chunks, kTimeout), Instant::max());
}

TEST(TimerLists, ArmedChunksFollowALaterTimeout) {
  std::vector<ChunkState> chunks(1);
  TimerLists timers;
  timers.arm(chunks, 0, kStart);
  const auto shorter = [](std::uint8_t) { return Duration::ms(4); };
  EXPECT_EQ(timers.next_expiry(chunks, shorter), kStart + Duration::ms(4));
}

}  // namespace
}  // namespace tributary::worker
