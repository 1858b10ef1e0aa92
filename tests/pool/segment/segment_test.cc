// Segments: what a reader and a scan find, at whatever instant the node died (L1, L4).
#include "pool/segment/segment.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "core/prng.h"

namespace tributary::pool {
namespace {

const Segment::Owner kOwner{"train", "a", 42};

std::vector<std::byte> data_of(std::uint64_t id, std::size_t bytes) {
  Prng prng(id);
  std::vector<std::byte> data(bytes);
  for (auto& b : data) b = static_cast<std::byte>(prng.next());
  return data;
}

// What a node finds that starts on this memory.
struct Found {
  explicit Found(std::span<std::byte> memory, const Segment::Owner& owner = kOwner)
      : segment(memory, owner, 77, [this](const PlacedRecord& r) {
          records[r.id] = r;
          return true;
        }) {}
  std::map<std::uint64_t, PlacedRecord> records;
  Segment segment;
};

Segment fresh(std::span<std::byte> memory, std::uint32_t incarnation = 5) {
  return Segment(memory, kOwner, incarnation, [](const PlacedRecord&) { return true; });
}

TEST(PoolSegment, L4RestartFindsEveryRecord) {
  std::vector<std::byte> memory(1 << 20);
  Segment segment = fresh(memory);
  std::map<std::uint64_t, PlacedRecord> put;
  for (std::uint64_t id = 0; id < 50; ++id) put[id] = *segment.put(id, data_of(id, 100 + id * 37));
  segment.release(segment.remove(put.at(7)));
  put.erase(7);
  Found found(memory);
  EXPECT_TRUE(found.segment.taken_over());
  EXPECT_EQ(found.segment.incarnation(), 5u);
  EXPECT_EQ(found.records, put);
  EXPECT_EQ(found.segment.free_bytes(), segment.free_bytes());
  for (const auto& [id, record] : found.records) EXPECT_TRUE(found.segment.intact(record));
  EXPECT_GT(found.segment.put(7, data_of(7, 10))->generation, segment.generation())
      << "no generation is used twice, not even one that a scan can't see";
}

TEST(PoolSegment, MemoryOfAnotherOwnerIsFormattedAndOldHeadersMeanNothing) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  const PlacedRecord old = *segment.put(1, data_of(1, 100));
  for (const Segment::Owner& other :
       {Segment::Owner{"other", "a", 42}, Segment::Owner{"train", "b", 42},
        Segment::Owner{"train", "a", 43}}) {
    auto copy = memory;
    Found found(copy, other);
    EXPECT_FALSE(found.segment.taken_over());
    EXPECT_TRUE(found.records.empty());
    EXPECT_FALSE(found.segment.intact(old));
    Found again(copy, other);
    EXPECT_TRUE(again.segment.taken_over());
    EXPECT_TRUE(again.records.empty()) << "headers of another incarnation";
  }
}

// Every order in which the bytes of a put may have reached memory when the node died: any prefix of
// (data, header without magic), the magic last.
TEST(PoolSegment, L4KilledWhileWritingLeavesNoHalfRecord) {
  std::vector<std::byte> before(1 << 16);
  Segment segment = fresh(before);
  const PlacedRecord first = *segment.put(1, data_of(1, 300));
  const PlacedRecord second = *segment.put(2, data_of(2, 300));
  ASSERT_TRUE(segment.put(3, data_of(3, 300)));
  segment.release(segment.remove(second));
  auto after = before;
  Segment writer(after, kOwner, 0, [](const PlacedRecord&) { return true; });
  const PlacedRecord third = *writer.put(4, data_of(4, 200));
  ASSERT_EQ(third.offset, second.offset) << "over a freed record";
  std::vector<std::size_t> order;  // offsets of bytes as put() writes them
  for (std::size_t i = 0; i < 200; ++i) order.push_back(third.offset + sizeof(RecordHeader) + i);
  for (std::size_t i = 0; i < sizeof(RecordHeader); ++i) order.push_back(third.offset + i);
  auto memory = before;
  for (std::size_t written = 0; written < order.size(); ++written) {
    auto crashed = memory;
    Found found(crashed);
    EXPECT_EQ(found.records.size(), 2u) << written << " bytes were written";
    EXPECT_TRUE(found.segment.intact(first));
    memory[order[written]] = after[order[written]];
  }
  Found found(memory);
  EXPECT_EQ(found.records.size(), 3u);
  EXPECT_TRUE(found.segment.intact(third));
}

TEST(PoolSegment, L4DataThatLooksLikeARecordIsNone) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  // A record whose data is a whole record of this very incarnation.
  std::vector<std::byte> forged(256);
  const RecordHeader header = make_header(99, 1, 5, std::span(forged).subspan(64, 10));
  std::memcpy(forged.data() + kRecordAlignment - sizeof(RecordHeader), &header, sizeof header);
  ASSERT_TRUE(segment.put(1, forged));
  Found found(memory);
  EXPECT_EQ(found.records.size(), 1u);
  EXPECT_TRUE(found.records.contains(1));
}

TEST(PoolSegment, FlippedBitsAreNotIntact) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  const PlacedRecord record = *segment.put(1, data_of(1, 100));
  EXPECT_TRUE(segment.intact(record));
  memory[record.offset + 40] ^= std::byte{1};
  EXPECT_FALSE(segment.intact(record));
}

TEST(PoolSegment, FullIsFull) {
  std::vector<std::byte> memory(2 * kSuperblockBytes);
  Segment segment = fresh(memory);
  EXPECT_EQ(segment.put(1, std::vector<std::byte>(4096)), std::nullopt);
  EXPECT_TRUE(segment.put(1, std::vector<std::byte>(4096 - sizeof(RecordHeader))));
  EXPECT_EQ(segment.put(2, {}), std::nullopt);
  EXPECT_EQ(segment.free_bytes(), 0u);
  std::vector<std::byte> tiny(100);
  EXPECT_THROW(fresh(tiny), std::invalid_argument);
}

// Random puts and removals, a restart after each few: a model and the scan agree.
TEST(PoolSegment, L4AgreesWithAModel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    std::vector<std::byte> memory(64 << 10);
    std::map<std::uint64_t, PlacedRecord> model;
    for (int round = 0; round < 8; ++round) {
      Found node(memory);
      ASSERT_EQ(node.records, model);
      for (int step = 0; step < 40; ++step) {
        const std::uint64_t id = prng.below(60);
        if (const auto at = model.find(id); at != model.end()) {
          node.segment.release(node.segment.remove(at->second));
          model.erase(at);
        } else if (const auto put = node.segment.put(id, data_of(id, prng.below(3000)))) {
          model[id] = *put;
        }
      }
      for (const auto& [id, record] : model) {
        ASSERT_TRUE(node.segment.intact(record));
        const auto data = node.segment.data(record);
        ASSERT_TRUE(std::equal(data.begin(), data.end(), data_of(id, record.length).begin()));
      }
    }
  }
}

}  // namespace
}  // namespace tributary::pool
