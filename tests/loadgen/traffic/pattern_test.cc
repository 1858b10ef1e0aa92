#include "tools/loadgen/traffic/pattern.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/net/checksum.h"

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

// Odd sizes and places: a vector, a few, and what is left over.
template <typename T>
void check_isa(wire::DType dtype, Isa isa) {
  for (const std::size_t bytes : {4, 8, 12, 60, 64, 68, 128, 188, 256, 508, 512}) {
    const Pattern plain(dtype, 9, 3, bytes, Isa::portable);
    const Pattern fast(dtype, 9, 3, bytes, isa);
    for (std::uint32_t chunk = 0; chunk < 8; ++chunk) {
      std::vector<std::byte> expected(bytes + 2);
      std::vector<std::byte> got(bytes + 2);
      const auto place = [&](std::vector<std::byte>& at) { return std::span(at).subspan(2); };
      std::vector<T> sum(bytes / sizeof(T));
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        plain.write(1, chunk, rank, place(expected));
        const std::uint16_t written = fast.write(1, chunk, rank, place(got));
        EXPECT_EQ(written, wire::ones_complement_sum(place(got)));
        ASSERT_EQ(got, expected) << name_of(isa) << ", " << bytes << " bytes";
        for (std::size_t i = 0; i < sum.size(); ++i) {
          T part;
          std::memcpy(&part, place(got).data() + i * sizeof part, sizeof part);
          sum[i] += part;
        }
      }
      std::memcpy(place(got).data(), sum.data(), bytes);
      EXPECT_TRUE(fast.is_sum(1, chunk, place(got)));
      for (std::size_t bit = 0; bit < 8 * bytes; ++bit) {
        place(got)[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        ASSERT_FALSE(fast.is_sum(1, chunk, place(got))) << name_of(isa) << ", bit " << bit;
        place(got)[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      }
    }
  }
}

TEST(Pattern, EveryInstructionSetWritesTheSameAndFindsEveryWrongBit) {
  for (const Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    check_isa<float>(wire::DType::float32, isa);
    check_isa<std::int32_t>(wire::DType::int32, isa);
  }
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
