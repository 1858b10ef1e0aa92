// Segments: what a reader and a restart find, at whatever instant the node died (L1, L4).
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
  EXPECT_EQ(found.segment.incarnation(), 77u) << "each process has its own";
  EXPECT_EQ(found.records, put);
  EXPECT_EQ(found.segment.free_bytes(), segment.free_bytes());
  for (const auto& [id, record] : found.records) EXPECT_TRUE(found.segment.intact(record));
  EXPECT_GT(found.segment.put(7, data_of(7, 10))->generation, segment.generation())
      << "no generation is used twice, not even one that the index does not show";
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
    EXPECT_EQ(found.segment.origin(), MemoryOrigin::other_owner);
    EXPECT_TRUE(found.records.empty());
    EXPECT_FALSE(found.segment.intact(old));
    Found again(copy, other);
    EXPECT_EQ(again.segment.origin(), MemoryOrigin::taken_over);
    EXPECT_TRUE(again.records.empty()) << "headers that no index names";
    EXPECT_EQ(again.segment.incarnation(), 78u) << "77 was that of the process before";
  }
}

// The offsets in `after` of the bytes that differ from `before`, in [from, to).
std::vector<std::size_t> changes(std::span<const std::byte> before,
                                 std::span<const std::byte> after, std::size_t from,
                                 std::size_t to) {
  std::vector<std::size_t> out;
  for (std::size_t i = from; i < to; ++i)
    if (before[i] != after[i]) out.push_back(i);
  return out;
}

// Every state that memory can have when the node dies in a put: any prefix of (data, header, index
// entry), the entry's offset last.
TEST(PoolSegment, L4KilledWhileWritingLeavesNoHalfRecord) {
  std::vector<std::byte> before(1 << 16);
  Segment segment = fresh(before);
  const std::size_t records_from = before.size() - segment.capacity();
  const PlacedRecord first = *segment.put(1, data_of(1, 300));
  const PlacedRecord second = *segment.put(2, data_of(2, 300));
  ASSERT_TRUE(segment.put(3, data_of(3, 300)));
  segment.release(segment.remove(second));
  // Both continue as one process after the same restart, so that they agree on the incarnation.
  const Found restarted(before);
  auto after = before;
  Segment writer(after, kOwner, 77, [](const PlacedRecord&) { return true; });
  auto memory = before;
  Segment same(memory, kOwner, 77, [](const PlacedRecord&) { return true; });
  const PlacedRecord third = *writer.put(4, data_of(4, 200));
  ASSERT_EQ(third.offset, second.offset) << "over a freed record";
  std::vector<std::size_t> order;  // offsets of bytes as put() writes them
  for (std::size_t i = 0; i < 200; ++i) order.push_back(third.offset + sizeof(RecordHeader) + i);
  for (std::size_t i = 0; i < sizeof(RecordHeader); ++i) order.push_back(third.offset + i);
  const auto index = changes(memory, after, kSuperblockBytes, records_from);
  ASSERT_FALSE(index.empty());
  const std::size_t entry = kSuperblockBytes + (index.front() - kSuperblockBytes) /
                                                   sizeof(IndexEntry) * sizeof(IndexEntry);
  for (std::size_t i = 8; i < sizeof(IndexEntry); ++i) order.push_back(entry + i);
  for (const std::size_t at : order) {
    auto crashed = memory;
    Found found(crashed);
    EXPECT_EQ(found.records.size(), 2u) << "before byte " << at << " was written";
    EXPECT_TRUE(found.segment.intact(first));
    memory[at] = after[at];
  }
  for (std::size_t i = 0; i < 8; ++i) memory[entry + i] = after[entry + i];  // one store
  Found found(memory);
  EXPECT_EQ(found.records.size(), 3u);
  EXPECT_TRUE(found.segment.intact(third));
}

// A record whose data has a whole record of the segment's incarnation at each place that a header
// may have.
std::vector<std::byte> forged(std::uint64_t id, std::uint32_t generation,
                              std::uint32_t incarnation) {
  std::vector<std::byte> out(1024 - sizeof(RecordHeader));
  for (std::size_t at = kRecordAlignment - sizeof(RecordHeader); at + 64 <= out.size(); at += 64) {
    const auto inner = std::span(out).subspan(at + sizeof(RecordHeader), 10);
    const RecordHeader header = make_header(id, generation, incarnation, inner);
    std::memcpy(out.data() + at, &header, sizeof header);
  }
  return out;
}

TEST(PoolSegment, L4DataThatLooksLikeARecordIsNone) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  ASSERT_TRUE(segment.put(1, forged(99, 1, 5)));
  Found found(memory);
  EXPECT_EQ(found.records.size(), 1u);
  EXPECT_TRUE(found.records.contains(1));
}

TEST(PoolSegment, L4DataOfARemovedRecordIsNoRecordAfterARestart) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  const PlacedRecord evicted = *segment.put(1, forged(99, 1, 5));
  ASSERT_TRUE(segment.put(2, data_of(2, 100)));
  segment.release(segment.remove(evicted));
  Found found(memory);
  EXPECT_EQ(found.records.size(), 1u);
  EXPECT_FALSE(found.records.contains(99)) << "it was never put";
  EXPECT_EQ(found.segment.free_bytes(), segment.free_bytes());
}

// A reader keeps the place of a record. The node restarts, and has other bytes there: those of a
// record whose data has the old record's header and data of its own.
TEST(PoolSegment, L4ReadersWithAnOldPlaceTakeNoNewBytes) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  const PlacedRecord small = *segment.put(1, data_of(1, 10));
  const PlacedRecord held = *segment.put(2, data_of(2, 10));
  ASSERT_EQ(held.offset, small.offset + 64);
  const Expected expected{2, held.generation, held.length, segment.incarnation()};
  segment.release(segment.remove(small));
  segment.release(segment.remove(held));
  Found restarted(memory);
  const auto large = restarted.segment.put(3, forged(2, held.generation, segment.incarnation()));
  ASSERT_EQ(large->offset, small.offset);
  RecordHeader read;
  std::memcpy(&read, memory.data() + held.offset, sizeof read);
  const auto data = std::span(memory).subspan(held.offset + sizeof read, held.length);
  EXPECT_EQ(read.id, 2u) << "the header of the old record is there";
  const Expected now{2, held.generation, held.length, restarted.segment.incarnation()};
  EXPECT_EQ(check_read(read, data, now), ReadCheck::stale);
  // A reader that kept its connection knows the old incarnation. The records that the restart found
  // have headers of the new one, and the reader learns that the node is another process.
  EXPECT_NE(restarted.segment.incarnation(), expected.incarnation);
}

TEST(PoolSegment, L4ReadersOfTheProcessBeforeFindNoRecord) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  const PlacedRecord record = *segment.put(1, data_of(1, 100));
  const Expected expected{1, record.generation, record.length, segment.incarnation()};
  Found restarted(memory);
  RecordHeader read;
  std::memcpy(&read, memory.data() + record.offset, sizeof read);
  EXPECT_EQ(check_read(read, restarted.segment.data(record), expected), ReadCheck::stale);
  EXPECT_TRUE(restarted.segment.intact(record));
}

TEST(PoolSegment, MemoryOfAnotherFormatIsEmptiedAndSaid) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment = fresh(memory);
  EXPECT_EQ(segment.origin(), MemoryOrigin::fresh);
  ASSERT_TRUE(segment.put(1, data_of(1, 100)));
  memory[7] = std::byte{'1'};
  Found found(memory);
  EXPECT_EQ(found.segment.origin(), MemoryOrigin::other_format);
  EXPECT_TRUE(found.records.empty());
  EXPECT_EQ(found.segment.free_bytes(), found.segment.capacity());
  EXPECT_STREQ(name_of(found.segment.origin()),
               "its memory had the format of another build, and was emptied");
}

TEST(PoolSegment, FullIndexTakesNoMore) {
  std::vector<std::byte> memory(1 << 16);
  Segment segment(memory, {"train", "a", 42, 2, 100}, 5, [](const PlacedRecord&) { return true; });
  const PlacedRecord first = *segment.put(1, data_of(1, 10));
  ASSERT_TRUE(segment.put(2, data_of(2, 10)));
  EXPECT_TRUE(segment.index_full());
  EXPECT_EQ(segment.put(3, data_of(3, 10)), std::nullopt);
  segment.release(segment.remove(first));
  EXPECT_TRUE(segment.put(3, data_of(3, 10)));
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
  std::vector<std::byte> memory(4 * kSuperblockBytes);
  Segment segment = fresh(memory);
  const std::size_t capacity = segment.capacity();
  EXPECT_EQ(segment.put(1, std::vector<std::byte>(capacity)), std::nullopt);
  EXPECT_TRUE(segment.put(1, std::vector<std::byte>(capacity - sizeof(RecordHeader))));
  EXPECT_EQ(segment.put(2, {}), std::nullopt);
  EXPECT_EQ(segment.free_bytes(), 0u);
  std::vector<std::byte> tiny(100);
  EXPECT_THROW(fresh(tiny), std::invalid_argument);
}

// Random puts and removals, a restart after each few: a model and the index agree.
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
