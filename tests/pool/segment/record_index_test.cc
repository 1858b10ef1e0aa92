// The index of a segment: its size, and what it gives back after damage (L4).
#include "pool/segment/record_index.h"

#include <gtest/gtest.h>

#include "pool/record/record.h"

namespace tributary::pool {
namespace {

constexpr std::uint64_t kBegin = 4096;
constexpr std::uint64_t kEnd = 1 << 16;
constexpr std::uint64_t kEntries = 8;

struct Area {
  Area() : bytes(RecordIndex::area_bytes(kEntries)), index(bytes, kEntries, 5) { index.clear(); }
  // The offsets that another process finds.
  std::vector<std::uint64_t> offsets() {
    RecordIndex next(bytes, kEntries, 5);
    std::vector<std::uint64_t> out;
    for (const IndexEntry& entry : next.recover(kBegin, kEnd)) out.push_back(entry.offset);
    damaged = next.damaged();
    return out;
  }
  std::vector<std::byte> bytes;
  RecordIndex index;
  std::uint64_t damaged = 0;
};

IndexEntry entry(std::uint64_t offset, std::uint32_t length = 10) {
  return {offset, 1, length, 1, 2, 0, 0, 0};
}

TEST(PoolRecordIndex, SizeFollowsFromTheMemoryAndTheRecords) {
  EXPECT_EQ(RecordIndex::entries_for(1 << 20, 100, 0), 100u) << "never more records";
  EXPECT_EQ(RecordIndex::entries_for(1 << 20, 1 << 30, 960), (1u << 20) / (1024 + 40));
  EXPECT_EQ(RecordIndex::entries_for(1 << 20, 0, 0), 1u);
  EXPECT_EQ(RecordIndex::entries_for(1 << 20, 10, ~std::uint64_t{0}), 1u);
  EXPECT_EQ(RecordIndex::area_bytes(1), 64u);
  EXPECT_EQ(RecordIndex::area_bytes(8), 320u);
}

TEST(PoolRecordIndex, L4EntriesComeBackInOrderOfOffset) {
  Area area;
  for (const std::uint64_t offset : {8192, 4096, 4224}) area.index.add(entry(offset));
  area.index.remove(4096);
  EXPECT_EQ(area.offsets(), (std::vector<std::uint64_t>{4224, 8192}));
  EXPECT_EQ(area.damaged, 0u);
}

TEST(PoolRecordIndex, L4EveryFlippedBitOfAnEntryIsNoticed) {
  for (std::size_t bit = 0; bit < 8 * (sizeof(IndexEntry) - sizeof(IndexEntry::reserved)); ++bit) {
    Area area;
    area.index.add(entry(4160));  // no single bit makes it 0, which is a free entry
    area.index.add(entry(8192));
    area.bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_EQ(area.offsets(), std::vector<std::uint64_t>{8192}) << "bit " << bit;
    EXPECT_EQ(area.damaged, 1u);
    EXPECT_EQ(area.offsets(), std::vector<std::uint64_t>{8192});
    EXPECT_EQ(area.damaged, 0u) << "freed the first time";
  }
}

TEST(PoolRecordIndex, L4EntriesOutsideOrOverOthersAreDropped) {
  Area area;
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::uint32_t>>{
           {64, 10}, {4096, 100}, {4160, 10}, {8200, 10}, {kEnd - 64, 100}, {kEnd, 0}})
    area.index.add(entry(offset, length));
  EXPECT_EQ(area.offsets(), std::vector<std::uint64_t>{4096});
  EXPECT_EQ(area.damaged, 5u);
}

TEST(PoolRecordIndex, L4EntriesOfAnotherIndexAreDropped) {
  Area area;
  area.index.add(entry(4096));
  RecordIndex other(area.bytes, kEntries, 6);
  EXPECT_TRUE(other.recover(kBegin, kEnd).empty());
}

TEST(PoolRecordIndex, FullUntilOneIsRemoved) {
  Area area;
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    EXPECT_FALSE(area.index.full());
    area.index.add(entry(4096 + 64 * i));
  }
  EXPECT_TRUE(area.index.full());
  area.index.remove(4096);
  EXPECT_FALSE(area.index.full());
}

}  // namespace
}  // namespace tributary::pool
