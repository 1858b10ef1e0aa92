#include "tools/loadgen/pattern.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tributary::loadgen {
namespace {

constexpr std::size_t kBytes = 512;

template <typename T>
std::vector<std::byte> sum_of(const Pattern& pattern, std::uint32_t op, std::uint32_t chunk,
                              const std::vector<std::uint32_t>& ranks) {
  std::vector<T> sum(kBytes / sizeof(T));
  for (const std::uint32_t rank : ranks) {
    std::vector<T> part(sum.size());
    pattern.write(op, chunk, rank, std::as_writable_bytes(std::span(part)));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  std::vector<std::byte> bytes(kBytes);
  std::memcpy(bytes.data(), sum.data(), kBytes);
  return bytes;
}

template <typename T>
void check_all(wire::DType dtype) {
  const Pattern pattern(dtype, 9, 4, kBytes);
  const auto good = sum_of<T>(pattern, 3, 5, {0, 1, 2, 3});
  EXPECT_TRUE(pattern.is_sum(3, 5, good));
  EXPECT_TRUE(pattern.is_sum(3, 5, sum_of<T>(pattern, 3, 5, {2, 0, 3, 1})));
  EXPECT_FALSE(pattern.is_sum(3, 5, sum_of<T>(pattern, 3, 5, {0, 1, 2}))) << "a rank is missing";
  EXPECT_FALSE(pattern.is_sum(3, 5, sum_of<T>(pattern, 3, 5, {0, 1, 2, 3, 3}))) << "one twice";
  EXPECT_FALSE(pattern.is_sum(3, 5, sum_of<T>(pattern, 3, 5, {0, 1, 2, 2}))) << "one for another";
  EXPECT_FALSE(pattern.is_sum(3, 6, good)) << "another chunk";
  EXPECT_FALSE(pattern.is_sum(4, 5, good)) << "another op";
  EXPECT_FALSE(Pattern(dtype, 8, 4, kBytes).is_sum(3, 5, good)) << "another job";
  for (std::size_t bit = 0; bit < 8 * kBytes; ++bit) {
    auto flipped = good;
    flipped[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    ASSERT_FALSE(pattern.is_sum(3, 5, flipped)) << "bit " << bit;
  }
}

TEST(Pattern, KnowsTheSumOfFloatsToTheBit) {
  check_all<float>(wire::DType::float32);
}

TEST(Pattern, KnowsTheSumOfIntegers) {
  check_all<std::int32_t>(wire::DType::int32);
}

TEST(Pattern, TheLargestJobIsExactInFloats) {
  const Pattern pattern(wire::DType::float32, 1, 1024, kBytes);
  std::vector<std::uint32_t> ranks(1024);
  for (std::uint32_t rank = 0; rank < 1024; ++rank) ranks[rank] = rank;
  for (std::uint32_t chunk = 0; chunk < 20; ++chunk)
    EXPECT_TRUE(pattern.is_sum(0, chunk, sum_of<float>(pattern, 0, chunk, ranks)));
}

}  // namespace
}  // namespace tributary::loadgen
