#include "dataplane/frame/token_bucket.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

int taken(TokenBucket& bucket, Instant now) {
  int n = 0;
  while (bucket.take(now)) ++n;
  return n;
}

TEST(TokenBucket, BurstThenRate) {
  TokenBucket bucket(1000, 50);
  Instant now = Instant::from_ns(1'000'000'000'000);
  EXPECT_EQ(taken(bucket, now), 50);
  now = now + Duration::ms(7);
  EXPECT_EQ(taken(bucket, now), 7);
  now = now + Duration::seconds(3600);
  EXPECT_EQ(taken(bucket, now), 50);  // no more than the burst is saved
}

TEST(TokenBucket, FractionsAreNotLost) {
  TokenBucket bucket(1000, 1);
  Instant now;
  EXPECT_EQ(taken(bucket, now), 1);
  int n = 0;
  for (int i = 0; i < 1000; ++i) {
    now = now + Duration::us(100);
    n += taken(bucket, now);
  }
  EXPECT_EQ(n, 100);
}

TEST(TokenBucket, SeveralAtOnceOrNone) {
  TokenBucket bucket(1000, 50);
  const Instant now = Instant::from_ns(1'000'000'000);
  EXPECT_TRUE(bucket.take(now, 45));
  EXPECT_FALSE(bucket.take(now, 6));
  EXPECT_TRUE(bucket.take(now, 5)) << "what was refused has taken nothing";
  EXPECT_FALSE(bucket.take(now));
  EXPECT_FALSE(bucket.take(now + Duration::ms(49), 50));
  EXPECT_TRUE(bucket.take(now + Duration::ms(50), 50));
  EXPECT_FALSE(bucket.take(now + Duration::seconds(10), 51)) << "more than is ever saved up";
}

TEST(TokenBucket, TimeGoingBackGivesNothing) {
  TokenBucket bucket(1000, 1);
  EXPECT_EQ(taken(bucket, Instant::from_ns(5'000'000)), 1);
  EXPECT_EQ(taken(bucket, Instant::from_ns(1)), 0);
}

}  // namespace
}  // namespace tributary::dataplane
