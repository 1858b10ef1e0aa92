#include "tools/impair/delay_line.h"

#include <gtest/gtest.h>

namespace tributary::impair {
namespace {

constexpr Instant at(std::int64_t us) {
  return Instant::from_ns(us * 1'000);
}

TEST(DelayLine, ReleasesInTimeOrderAndNotBefore) {
  DelayLine<int> line(4);
  EXPECT_EQ(line.next_release(), Instant::max());
  ASSERT_TRUE(line.push(1, at(30)));
  ASSERT_TRUE(line.push(2, at(10)));
  ASSERT_TRUE(line.push(3, at(20)));
  EXPECT_EQ(line.next_release(), at(10));
  int out = 0;
  EXPECT_FALSE(line.pop(at(9), out));
  ASSERT_TRUE(line.pop(at(25), out));
  EXPECT_EQ(out, 2);
  ASSERT_TRUE(line.pop(at(25), out));
  EXPECT_EQ(out, 3);
  EXPECT_FALSE(line.pop(at(25), out));
  ASSERT_TRUE(line.pop(at(30), out));
  EXPECT_EQ(out, 1);
  EXPECT_EQ(line.size(), 0u);
}

TEST(DelayLine, EqualTimesKeepTheOrderOfArrival) {
  DelayLine<int> line(8);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(line.push(i, at(5)));
  for (int i = 0; i < 8; ++i) {
    int out = -1;
    ASSERT_TRUE(line.pop(at(5), out));
    EXPECT_EQ(out, i);
  }
}

TEST(DelayLine, IsBounded) {
  DelayLine<int> line(1);
  EXPECT_TRUE(line.push(1, at(1)));
  EXPECT_TRUE(line.full());
  EXPECT_FALSE(line.push(2, at(1)));
  EXPECT_EQ(line.size(), 1u);
}

}  // namespace
}  // namespace tributary::impair
