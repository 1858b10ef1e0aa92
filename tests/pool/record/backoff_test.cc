// Waits that grow, vary and end.
#include "pool/record/backoff.h"

#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

TEST(PoolBackoff, DoublesToTheMostAndEnds) {
  Backoff backoff({Duration::ms(100), Duration::ms(500), 4}, 7);
  for (const int full : {100, 200, 400, 500}) {
    ASSERT_TRUE(backoff.again());
    EXPECT_GE(backoff.delay(), Duration::ms(full / 2));
    EXPECT_LE(backoff.delay(), Duration::ms(full));
  }
  EXPECT_FALSE(backoff.again());
}

TEST(PoolBackoff, SeedsDiffer) {
  Backoff a({Duration::ms(100), Duration::ms(500), 4}, 1);
  Backoff b({Duration::ms(100), Duration::ms(500), 4}, 2);
  ASSERT_TRUE(a.again() && b.again());
  EXPECT_NE(a.delay(), b.delay());
}

TEST(PoolBackoff, NoRetriesIsNoRetries) {
  Backoff backoff({Duration::ms(1), Duration::ms(1), 0}, 1);
  EXPECT_FALSE(backoff.again());
}

}  // namespace
}  // namespace tributary::pool
