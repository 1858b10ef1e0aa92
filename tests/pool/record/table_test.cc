// The loader's record table: 16 bytes a record (L4).
#include "pool/record/table.h"

#include <gtest/gtest.h>

namespace tributary::pool {
namespace {

TEST(PoolRecordTable, L4KeepsWhatItIsTold) {
  RecordTable table(10);
  EXPECT_EQ(table.find(3), std::nullopt);
  const Location at{254, (std::uint64_t{1} << 56) * 64 - 64, kMaxRecordBytes, 0xFFFFFFFF};
  EXPECT_TRUE(table.set(3, at));
  EXPECT_EQ(table.find(3), at);
  EXPECT_EQ(table.known(), 1u);
  EXPECT_TRUE(table.set(3, {0, 0, 0, 0}));
  EXPECT_EQ(table.find(3), (Location{0, 0, 0, 0}));
  EXPECT_EQ(table.known(), 1u);
  table.forget(3);
  table.forget(3);
  EXPECT_EQ(table.find(3), std::nullopt);
  EXPECT_EQ(table.known(), 0u);
}

TEST(PoolRecordTable, L4RefusesWhatNoSegmentHas) {
  RecordTable table(2);
  EXPECT_FALSE(table.set(2, {0, 0, 1, 1})) << "beyond the last id";
  EXPECT_FALSE(table.set(0, {255, 0, 1, 1})) << "no such node";
  EXPECT_FALSE(table.set(0, {0, 32, 1, 1})) << "not aligned";
  EXPECT_FALSE(table.set(0, {0, 0, kMaxRecordBytes + 1, 1})) << "too long";
  EXPECT_FALSE(table.set(0, {0, std::uint64_t{1} << 63, 1, 1})) << "too far";
  EXPECT_EQ(table.known(), 0u);
}

TEST(PoolRecordTable, ForgetsANodeThatIsGone) {
  RecordTable table(100);
  for (std::uint64_t id = 0; id < 100; ++id)
    ASSERT_TRUE(table.set(id, {static_cast<std::uint8_t>(id % 3), id * 64, 1, 1}));
  EXPECT_EQ(table.forget_node(1), 33u);
  EXPECT_EQ(table.known(), 67u);
  EXPECT_EQ(table.find(1), std::nullopt);
  EXPECT_TRUE(table.find(0) && table.find(2));
}

}  // namespace
}  // namespace tributary::pool
