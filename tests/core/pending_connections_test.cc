#include "core/pending_connections.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

Instant at(std::int64_t ms) {
  return Instant::from_ns(ms * 1'000'000);
}

TEST(PendingConnections, EachHasTheSameTimeFromItsStart) {
  PendingConnections<int> pending(Duration::ms(2000));
  EXPECT_EQ(pending.deadline(), Instant::max());
  pending.add(7, at(0));
  pending.add(3, at(500));
  EXPECT_EQ(pending.deadline(), at(2000));
  EXPECT_EQ(pending.late(at(1999)), std::nullopt);
  EXPECT_EQ(pending.late(at(2000)), 7);
  EXPECT_TRUE(pending.remove(7));
  EXPECT_EQ(pending.late(at(2499)), std::nullopt);
  EXPECT_EQ(pending.late(at(2500)), 3);
}

TEST(PendingConnections, TheOldestMakesWay) {
  PendingConnections<int> pending(Duration::seconds(2));
  EXPECT_EQ(pending.oldest(), std::nullopt);
  for (const int id : {9, 2, 5}) pending.add(id, at(id == 9 ? 0 : 1));
  EXPECT_EQ(pending.oldest(), 9);
  EXPECT_TRUE(pending.remove(2)) << "it has greeted, and is never replaced";
  EXPECT_TRUE(pending.remove(9));
  EXPECT_EQ(pending.oldest(), 5);
  EXPECT_EQ(pending.size(), 1u);
}

TEST(PendingConnections, AnIdIsPendingUntilItIsRemoved) {
  PendingConnections<int> pending(Duration::seconds(2));
  pending.add(4, at(0));
  EXPECT_EQ(pending.late(at(5000)), 4);
  EXPECT_EQ(pending.late(at(5000)), 4);
  EXPECT_TRUE(pending.remove(4));
  EXPECT_FALSE(pending.remove(4));
  pending.add(4, at(6000));  // a descriptor's number comes again
  EXPECT_EQ(pending.deadline(), at(8000));
}

}  // namespace
}  // namespace tributary
