// Headers of records: what a reader takes, and what it looks up again (L4).
#include "pool/record/record.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::pool {
namespace {

std::vector<std::byte> some_data(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7);
  return data;
}

TEST(PoolRecord, L4HeaderThatFitsItsDataIsGood) {
  const auto data = some_data(1000);
  const RecordHeader header = make_header(7, 3, 0xABCD, data);
  EXPECT_EQ(check_read(header, data, {7, 3, 1000, 0xABCD}), ReadCheck::good);
}

TEST(PoolRecord, L4AnotherRecordGenerationLengthOrSegmentIsStale) {
  const auto data = some_data(100);
  const RecordHeader header = make_header(7, 3, 9, data);
  EXPECT_EQ(check_read(header, data, {8, 3, 100, 9}), ReadCheck::stale);
  EXPECT_EQ(check_read(header, data, {7, 4, 100, 9}), ReadCheck::stale);
  EXPECT_EQ(check_read(header, data, {7, 3, 99, 9}), ReadCheck::stale);
  EXPECT_EQ(check_read(header, data, {7, 3, 100, 8}), ReadCheck::stale);
}

TEST(PoolRecord, L4EveryFlippedBitOfDataIsCorrupt) {
  auto data = some_data(64);
  const RecordHeader header = make_header(1, 1, 1, data);
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1u << bit % 8);
    data[bit / 8] ^= mask;
    EXPECT_EQ(check_read(header, data, {1, 1, 64, 1}), ReadCheck::corrupt) << "bit " << bit;
    data[bit / 8] ^= mask;
  }
}

TEST(PoolRecord, L4EveryFlippedBitOfTheHeaderIsNoticed) {
  const auto data = some_data(64);
  const RecordHeader good = make_header(1, 1, 1, data);
  for (std::size_t bit = 0; bit < sizeof good * 8; ++bit) {
    RecordHeader header = good;
    reinterpret_cast<unsigned char*>(&header)[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    EXPECT_NE(check_read(header, data, {1, 1, 64, 1}), ReadCheck::good) << "bit " << bit;
  }
}

TEST(PoolRecord, FootprintIsAlignedAndHoldsTheHeader) {
  EXPECT_EQ(footprint(0), 64u);
  EXPECT_EQ(footprint(32), 64u);
  EXPECT_EQ(footprint(33), 128u);
}

}  // namespace
}  // namespace tributary::pool
