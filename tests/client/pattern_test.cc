// Generated data: sums are predictable, and mistakes show.
#include "tools/client/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace tributary::client {
namespace {

std::vector<std::byte> sum_of_floats(std::uint32_t ranks, std::size_t count, std::uint64_t round) {
  std::vector<float> sum(count, 0.0f);
  std::vector<std::byte> data(count * 4);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    fill_pattern(data, wire::DType::float32, rank, round);
    for (std::size_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, data.data() + 4 * i, 4);
      sum[i] += value;
    }
  }
  std::memcpy(data.data(), sum.data(), data.size());
  return data;
}

TEST(Pattern, SumsAreExactUpToTheLargestJob) {
  EXPECT_EQ(count_wrong(sum_of_floats(4, 5000, 3), wire::DType::float32, 4, 3), 0u);
  EXPECT_EQ(count_wrong(sum_of_floats(1024, 300, 0), wire::DType::float32, 1024, 0), 0u);
  EXPECT_LT(1024 * 127 + 1024 * 1023 / 2, 1 << 24);
}

TEST(Pattern, MissingDoubledAndStaleDataShow) {
  const auto right = sum_of_floats(4, 4096, 0);
  EXPECT_EQ(count_wrong(right, wire::DType::float32, 3, 0), 4096u);  // a rank missing
  EXPECT_EQ(count_wrong(right, wire::DType::float32, 5, 0), 4096u);
  EXPECT_GT(count_wrong(right, wire::DType::float32, 4, 1), 3500u);  // an earlier round's
  auto swapped = right;  // two chunks of 1 KiB in each other's place
  std::swap_ranges(swapped.begin(), swapped.begin() + 1024, swapped.begin() + 2048);
  EXPECT_GT(count_wrong(swapped, wire::DType::float32, 4, 0), 400u);
}

TEST(Pattern, CountsEachWrongElement) {
  std::vector<std::byte> data(40);
  fill_pattern(data, wire::DType::int32, 0, 0);
  EXPECT_EQ(count_wrong(data, wire::DType::int32, 1, 0), 0u);
  data[4] ^= std::byte{1};
  data[39] ^= std::byte{0x80};
  EXPECT_EQ(count_wrong(data, wire::DType::int32, 1, 0), 2u);
}

TEST(Pattern, RefusesOtherTypes) {
  std::vector<std::byte> data(8);
  EXPECT_THROW(fill_pattern(data, wire::DType::float64, 0, 0), std::invalid_argument);
  EXPECT_THROW((void)count_wrong(data, wire::DType::float64, 1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::client
