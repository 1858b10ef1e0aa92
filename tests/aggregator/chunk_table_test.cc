// The ring of one (job, shard), driven without any packet (protocol rule 20: a contribution is
// a contribution, whatever front-end made it), with random schedules against a plain model.
#include "aggregator/chunk_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "core/prng.h"

namespace tributary::aggregator {
namespace {

constexpr std::uint32_t kWorkers = 3;
constexpr std::uint32_t kWindow = 4;
constexpr std::uint32_t kChunkBytes = 16;

class ChunkTableTest : public ::testing::Test {
 protected:
  ChunkTableTest()
      : buffers_(2 * kWindow * kChunkBytes),
        deadlines_(Duration::ms(10)),
        table_(0, kWorkers, kWindow, kChunkBytes, buffers_, deadlines_) {}

  ChunkTable::Add add(std::uint32_t child, std::uint32_t seq, std::int32_t value) {
    Contribution c;
    c.child = static_cast<std::uint16_t>(child);
    c.seq = seq;
    c.description.op = seq;
    c.description.element_count = 1;
    c.description.dtype = wire::DType::int32;
    c.payload = std::as_bytes(std::span(&value, 1));
    entry_ = nullptr;
    return table_.add(c, find_reduce(wire::DType::int32, wire::ReduceOp::sum), now_, entry_);
  }
  [[nodiscard]] std::int32_t result() const {
    std::int32_t value = 0;
    std::memcpy(&value, table_.payload(*entry_).data(), sizeof value);
    return value;
  }

  std::vector<std::byte> buffers_;
  DeadlineQueue deadlines_;
  ChunkTable table_;
  ChunkEntry* entry_ = nullptr;
  Instant now_;
};

TEST_F(ChunkTableTest, ContributionNeedsNoHeader) {
  EXPECT_EQ(add(0, 0, 1), ChunkTable::Add::opened);
  EXPECT_EQ(add(1, 0, 2), ChunkTable::Add::folded);
  EXPECT_EQ(add(2, 0, 4), ChunkTable::Add::completed);
  EXPECT_EQ(result(), 7);
}

// Half the number space away, a seq is both before and after: no such acknowledgement may count.
TEST_F(ChunkTableTest, AcknowledgementFromFarAwayChangesNothing) {
  for (std::uint32_t child = 0; child < kWorkers; ++child) add(child, 0, 1);
  EXPECT_TRUE(table_.acknowledge(0, 1));
  for (const std::uint32_t far : {0x80000000u, 0x80000001u, 0x80000002u, 0xFFFFFFFFu, 0u}) {
    table_.acknowledge(0, far);
    EXPECT_EQ(table_.held_before(0), 1u) << far;
  }
  EXPECT_EQ(table_.retained(), 1u);
}

TEST_F(ChunkTableTest, ForgottenChildHoldsNothingBack) {
  for (std::uint32_t child = 0; child < kWorkers; ++child) add(child, 0, 1);
  EXPECT_TRUE(table_.acknowledge(0, 1));
  EXPECT_TRUE(table_.acknowledge(1, 1));
  EXPECT_EQ(table_.retained(), 1u);
  table_.forget_child(2);
  EXPECT_EQ(table_.retained(), 0u);
  table_.forget_child(2);
  table_.forget_child(0);
  table_.forget_child(1);
  EXPECT_EQ(table_.retained(), 0u);
}

TEST_F(ChunkTableTest, DeadlineRunsFromTheFirstContribution) {
  add(0, 1, 1);
  now_ = now_ + Duration::ms(5);
  add(0, 0, 1);
  EXPECT_EQ(deadlines_.due(Instant::from_ns(9'999'999)), nullptr);
  const DeadlineNode* due = deadlines_.due(Instant::from_ns(10'000'000));
  ASSERT_NE(due, nullptr);
  EXPECT_EQ(static_cast<const ChunkEntry*>(due)->seq, 1u);
  table_.reset(0);
  EXPECT_EQ(deadlines_.due(Instant::max()), nullptr);
}

// Senders that keep rule 2 are never refused, sums are exact, and memory stays within 2W
// entries, whatever the order, the copies and the place of the wrap.
TEST_F(ChunkTableTest, RandomSchedulesAreExact) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    const auto first = static_cast<std::uint32_t>(0u - prng.below(40));
    table_.reset(first);
    constexpr std::uint32_t kChunks = 60;
    std::array<std::set<std::uint32_t>, kWorkers> sent;  // offsets from first
    std::map<std::uint32_t, std::int32_t> results;
    std::array<std::uint32_t, kWorkers> held{};  // offsets before it are held
    while (results.size() < kChunks) {
      const std::uint32_t child = prng.below(kWorkers);
      while (results.contains(held[child]) && prng.below(2) == 0) ++held[child];
      const std::uint32_t offset = held[child] + prng.below(kWindow);
      if (offset >= kChunks) continue;
      const auto value = static_cast<std::int32_t>(offset * 100 + child);
      const ChunkTable::Add outcome = add(child, first + offset, value);
      if (sent[child].contains(offset)) {
        ASSERT_TRUE(outcome == ChunkTable::Add::duplicate ||
                    outcome == ChunkTable::Add::duplicate_complete);
        continue;
      }
      sent[child].insert(offset);
      ASSERT_TRUE(outcome == ChunkTable::Add::opened || outcome == ChunkTable::Add::folded ||
                  outcome == ChunkTable::Add::completed);
      if (outcome == ChunkTable::Add::completed) results[offset] = result();
      ASSERT_LE(table_.open(), kWindow);
      ASSERT_LE(table_.retained(), kWindow);
      for (std::uint32_t c = 0; c < kWorkers; ++c) {  // rule 4: whoever lacks a result can have it
        if (!results.contains(held[c])) continue;
        ASSERT_EQ(table_.look_up(first + held[c], static_cast<std::uint16_t>(c), entry_),
                  ChunkTable::Lookup::complete);
        ASSERT_EQ(result(), results[held[c]]);
      }
    }
    for (const auto& [offset, sum] : results)
      ASSERT_EQ(sum, static_cast<std::int32_t>(3 * offset * 100 + 3));
    EXPECT_EQ(table_.open(), 0u);
  }
}

}  // namespace
}  // namespace tributary::aggregator
