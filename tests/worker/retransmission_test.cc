#include "worker/retransmission.h"

#include <gtest/gtest.h>

namespace tributary::worker {
namespace {

const Instant kStart = Instant::from_ns(1'000'000);

TEST(RetransmissionTimeout, FollowsTheSmoothedRoundTripWithinBounds) {
  RetransmissionTimeout t;
  EXPECT_EQ(t.current(), Duration::ms(20));
  t.sample(Duration::ms(10));
  EXPECT_EQ(t.current(), Duration::ms(40));
  t.sample(Duration::ms(18));  // gain 1/8
  EXPECT_EQ(t.smoothed(), Duration::ms(11));
  EXPECT_EQ(t.current(), Duration::ms(44));
  for (int i = 0; i < 200; ++i) t.sample(Duration::us(50));
  EXPECT_EQ(t.current(), Duration::ms(2));
  for (int i = 0; i < 200; ++i) t.sample(Duration::seconds(3));
  EXPECT_EQ(t.current(), Duration::ms(200));
}

TEST(RetransmissionTimeout, BackoffDoublesUpToASecond) {
  RetransmissionTimeout t;
  EXPECT_EQ(t.current(1), Duration::ms(40));
  EXPECT_EQ(t.current(5), Duration::ms(640));
  EXPECT_EQ(t.current(6), Duration::seconds(1));
  EXPECT_EQ(t.current(RetransmissionTimers::kMaxBackoff), Duration::seconds(1));
}

TEST(RetransmissionTimers, ExpireInOrderWhateverTheBackoff) {
  std::vector<ChunkState> chunks(4);
  RetransmissionTimeout timeout;
  RetransmissionTimers timers;
  chunks[1].backoff = 1;
  timers.arm(chunks, 0, kStart);                     // 20 ms
  timers.arm(chunks, 1, kStart);                     // 40 ms
  timers.arm(chunks, 2, kStart + Duration::ms(5));   // 25 ms
  timers.arm(chunks, 3, kStart + Duration::ms(10));  // 30 ms
  EXPECT_EQ(timers.next_expiry(chunks, timeout), kStart + Duration::ms(20));
  EXPECT_EQ(timers.expired(chunks, timeout, kStart + Duration::ms(19)), kNoChunk);
  EXPECT_EQ(timers.expired(chunks, timeout, kStart + Duration::ms(20)), 0u);
  timers.cancel(chunks, 0);
  timers.cancel(chunks, 2);  // from the middle
  EXPECT_EQ(timers.expired(chunks, timeout, kStart + Duration::ms(29)), kNoChunk);
  EXPECT_EQ(timers.expired(chunks, timeout, kStart + Duration::ms(30)), 3u);
  timers.cancel(chunks, 3);
  EXPECT_EQ(timers.expired(chunks, timeout, kStart + Duration::ms(40)), 1u);
  timers.cancel(chunks, 1);
  EXPECT_EQ(timers.next_expiry(chunks, timeout), Instant::max());
}

TEST(RetransmissionTimers, ArmedChunksFollowALaterTimeout) {
  std::vector<ChunkState> chunks(1);
  RetransmissionTimeout timeout;
  RetransmissionTimers timers;
  timers.arm(chunks, 0, kStart);
  timeout.sample(Duration::ms(1));
  EXPECT_EQ(timers.next_expiry(chunks, timeout), kStart + Duration::ms(4));
}

}  // namespace
}  // namespace tributary::worker
