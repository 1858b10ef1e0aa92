#include "core/time.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace tributary {
namespace {

TEST(Duration, UnitsConvertToNanoseconds) {
  EXPECT_EQ(Duration::ns(7).to_ns(), 7);
  EXPECT_EQ(Duration::us(7).to_ns(), 7'000);
  EXPECT_EQ(Duration::ms(7).to_ns(), 7'000'000);
  EXPECT_EQ(Duration::seconds(7).to_ns(), 7'000'000'000);
  EXPECT_DOUBLE_EQ(Duration::ms(1500).to_seconds(), 1.5);
  EXPECT_EQ(Duration().to_ns(), 0);
}

TEST(Duration, ArithmeticAndOrder) {
  EXPECT_EQ(Duration::ms(3) + Duration::us(5), Duration::us(3005));
  EXPECT_EQ(Duration::ms(3) - Duration::ms(5), Duration::ms(-2));
  EXPECT_EQ(Duration::ms(3) * 4, Duration::ms(12));
  EXPECT_EQ(Duration::ms(3) / 2, Duration::us(1500));
  EXPECT_LT(Duration::us(999), Duration::ms(1));
  EXPECT_GT(Duration::max(), Duration::seconds(9'000'000'000));
}

TEST(Instant, DifferenceIsADurationAndSumsMoveIt) {
  const Instant start = Instant::from_ns(1'000);
  EXPECT_EQ((start + Duration::us(2)).to_ns(), 3'000);
  EXPECT_EQ((start - Duration::us(2)).to_ns(), -1'000);
  EXPECT_EQ((start + Duration::us(2)) - start, Duration::us(2));
  EXPECT_LT(start, start + Duration::ns(1));
  EXPECT_GT(Instant::max(), start);
}

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(Addable<Instant, Duration>);
static_assert(!Addable<Instant, Instant>, "two moments have no sum");
static_assert(!std::is_convertible_v<long, Duration>, "a bare number has no unit");
static_assert(!std::is_convertible_v<Duration, Instant>);

}  // namespace
}  // namespace tributary
