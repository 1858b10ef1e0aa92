// Memory is not given to another record while a reader may be reading it (L4).
#include "pool/record/lease.h"

#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

constexpr Instant at(std::int64_t ms) {
  return Instant::from_ns(ms * 1'000'000);
}

TEST(PoolLeases, L4FreedMemoryWaitsForEveryReader) {
  Leases leases(Duration::ms(10));
  const auto a = leases.open(5, at(0));
  const auto b = leases.open(7, at(0));
  leases.retire({64, 128}, 6, at(0));
  EXPECT_EQ(leases.waiting_bytes(), 128u);
  EXPECT_TRUE(leases.reusable().empty()) << "a has not seen generation 6";
  EXPECT_TRUE(leases.renew(a, 6, at(1)));
  EXPECT_EQ(leases.reusable(), std::vector<Extent>({{64, 128}}));
  EXPECT_EQ(leases.waiting_bytes(), 0u);
  leases.close(b);
  EXPECT_EQ(leases.count(), 1u);
}

TEST(PoolLeases, L4ReaderThatDiedHoldsMemoryNoLongerThanItsLease) {
  Leases leases(Duration::ms(10));
  const auto dead = leases.open(0, at(0));
  leases.retire({0, 64}, 1, at(0));
  EXPECT_EQ(leases.expire(at(9)), 0u);
  EXPECT_TRUE(leases.reusable().empty());
  EXPECT_EQ(leases.expire(at(10)), 1u);
  EXPECT_EQ(leases.reusable().size(), 1u);
  EXPECT_FALSE(leases.renew(dead, 1, at(11))) << "it begins anew";
}

TEST(PoolLeases, L4ReaderThatReadsNoTableHoldsMemoryForTenLengths) {
  Leases leases(Duration::ms(10));
  const auto reads = leases.open(0, at(0));
  const auto holds = leases.open(0, at(0));
  leases.retire({0, 64}, 1, at(5));
  leases.retire({64, 64}, 2, at(50));
  for (int ms = 5; ms < 105; ms += 5) {
    EXPECT_TRUE(leases.renew(reads, 2, at(ms)));
    EXPECT_TRUE(leases.renew(holds, 0, at(ms)));
    EXPECT_EQ(leases.expire(at(ms)), 0u) << ms;
    EXPECT_EQ(leases.waiting_bytes(), 128u);
  }
  EXPECT_EQ(leases.expire(at(105)), 1u);
  EXPECT_TRUE(leases.has(reads));
  EXPECT_FALSE(leases.renew(holds, 0, at(105))) << "it begins anew";
  EXPECT_EQ(leases.reusable().size(), 2u);
}

TEST(PoolLeases, WithoutReadersMemoryIsFreeAtOnce) {
  Leases leases(Duration::ms(10));
  leases.retire({0, 64}, 1, at(0));
  leases.retire({64, 64}, 2, at(0));
  EXPECT_EQ(leases.reusable().size(), 2u);
}

TEST(PoolLeases, SeenNeverDecreases) {
  Leases leases(Duration::ms(10));
  const auto a = leases.open(9, at(0));
  EXPECT_TRUE(leases.renew(a, 3, at(0)));
  EXPECT_EQ(leases.least_seen(), 9u);
}

}  // namespace
}  // namespace tributary::pool
