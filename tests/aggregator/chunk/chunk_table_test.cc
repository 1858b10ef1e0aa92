// The ring of one (job, shard), driven without any packet (protocol rule 20: a contribution is
// a contribution, whatever front-end made it), with random schedules against a plain model.
#include "aggregator/chunk/chunk_table.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "aggregator/chunk/chunk_deadlines.h"
#include "core/prng.h"

namespace tributary::aggregator {
namespace {

constexpr std::uint32_t kWorkers = 3;
constexpr std::uint32_t kWindow = 4;

enum class Add { opened, added, completed, duplicate, stale, beyond_window };

class ChunkTableTest : public ::testing::Test {
 protected:
  ChunkTableTest()
      : entries_(2 * kWindow),
        deadlines_(Duration::ms(10), entries_),
        table_(entries_, kWorkers, kWindow) {}

  // What a shard does with a contribution, with one integer for a payload.
  Add add(std::uint32_t child, std::uint32_t seq, std::int32_t value) {
    Contribution c;
    c.child = static_cast<std::uint16_t>(child);
    c.seq = seq;
    entry_ = nullptr;
    const ChunkTable::Place place = table_.find(seq, entry_);
    if (place == ChunkTable::Place::stale) return Add::stale;
    if (place == ChunkTable::Place::beyond_window) return Add::beyond_window;
    table_.note_sent(c.child, seq);
    release();
    if (place == ChunkTable::Place::unseen) {
      EXPECT_TRUE(table_.open(*entry_, c, now_));
      deadlines_.arm(*entry_);
      sums_[index()] = value;
      return Add::opened;
    }
    if (table_.has_contributed(*entry_, c.child)) return Add::duplicate;
    sums_[index()] += value;
    if (!table_.add(*entry_, c.child)) return Add::added;
    deadlines_.cancel(*entry_);
    table_.complete(*entry_);
    return Add::completed;
  }
  void release() {
    while (table_.pop_acknowledged() != nullptr) {
    }
  }
  bool acknowledge(std::uint16_t child, std::uint32_t seq) {
    const bool possible = table_.acknowledge(child, seq);
    release();
    return possible;
  }
  void forget(std::uint16_t child) {
    table_.forget_child(child);
    release();
  }
  [[nodiscard]] std::size_t index() const {
    return static_cast<std::size_t>(entry_ - entries_.data());
  }
  [[nodiscard]] std::int32_t result() const { return sums_[index()]; }

  std::vector<ChunkEntry> entries_;
  ChunkDeadlines deadlines_;
  ChunkTable table_;
  std::array<std::int32_t, 2 * kWindow> sums_{};
  ChunkEntry* entry_ = nullptr;
  Instant now_;
};

TEST_F(ChunkTableTest, ContributionNeedsNoHeader) {
  EXPECT_EQ(add(0, 0, 1), Add::opened);
  EXPECT_EQ(add(1, 0, 2), Add::added);
  EXPECT_EQ(add(2, 0, 4), Add::completed);
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
  EXPECT_TRUE(acknowledge(0, 1));
  EXPECT_TRUE(acknowledge(1, 1));
  EXPECT_EQ(table_.retained(), 1u);
  forget(2);
  EXPECT_EQ(table_.retained(), 0u);
  forget(2);
  forget(0);
  forget(1);
  EXPECT_EQ(table_.retained(), 0u);
}

// T17: results may reach children by another way, of chunks that are never seen here.
TEST_F(ChunkTableTest, WhatNobodyHasSeenAndAllHoldIsOver) {
  for (std::uint32_t child = 0; child < kWorkers; ++child) add(child, 1, 1);
  EXPECT_FALSE(table_.skip_unseen()) << "nobody is known to hold chunk 0";
  EXPECT_EQ(add(0, 4, 1), Add::beyond_window);
  table_.note_sent(0, 4);
  table_.note_sent(1, 4);
  release();
  EXPECT_FALSE(table_.skip_unseen()) << "child 2 may want it";
  table_.note_sent(2, 4);
  release();
  EXPECT_TRUE(table_.skip_unseen());
  EXPECT_EQ(table_.low(), 2u) << "chunk 1 is complete";
  EXPECT_EQ(add(0, 4, 1), Add::opened);
  EXPECT_EQ(add(0, 0, 1), Add::stale);
  // The window goes on as ever.
  for (std::uint32_t seq = 2; seq < 20; ++seq)
    for (std::uint32_t child = 0; child < kWorkers; ++child)
      if (seq != 4 || child != 0) add(child, seq, 1);
  EXPECT_EQ(table_.low(), 20u);
  EXPECT_LE(table_.retained(), 2 * kWindow);
}

TEST_F(ChunkTableTest, WhatIsSeenIsNotSkipped) {
  add(0, 0, 1);
  for (std::uint16_t child = 0; child < kWorkers; ++child) table_.note_sent(child, 4);
  release();
  EXPECT_FALSE(table_.skip_unseen());
  add(1, 0, 1);
  add(2, 0, 1);
  release();
  EXPECT_EQ(table_.low(), 1u);
  EXPECT_EQ(table_.retained(), 0u) << "all hold it already";
}

TEST_F(ChunkTableTest, DeadlineRunsFromTheFirstContribution) {
  add(0, 1, 1);
  now_ = now_ + Duration::ms(5);
  add(0, 0, 1);
  EXPECT_EQ(deadlines_.due(Instant::from_ns(9'999'999)), nullptr);
  ChunkEntry* const due = deadlines_.due(Instant::from_ns(10'000'000));
  ASSERT_NE(due, nullptr);
  EXPECT_EQ(due->seq, 1u);
  deadlines_.cancel(*due);
  EXPECT_EQ(deadlines_.due(Instant::max())->seq, 0u);
}

// Senders that keep rule 2 are never refused, sums are exact, and memory stays within 2W
// entries, whatever the order, the copies and the place of the wrap.
TEST_F(ChunkTableTest, RandomSchedulesAreExact) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    const auto first = static_cast<std::uint32_t>(0u - prng.below(40));
    for (ChunkEntry& e : entries_) deadlines_.cancel(e);
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
      const Add outcome = add(child, first + offset, value);
      if (sent[child].contains(offset)) {
        ASSERT_EQ(outcome, Add::duplicate);
        continue;
      }
      sent[child].insert(offset);
      ASSERT_TRUE(outcome == Add::opened || outcome == Add::added || outcome == Add::completed);
      if (outcome == Add::completed) results[offset] = result();
      ASSERT_LE(table_.open(), kWindow);
      ASSERT_LE(table_.retained(), kWindow);
      // rule 4: a child that lacks a result can have it
      for (std::uint32_t c = 0; c < kWorkers; ++c) {
        if (!results.contains(held[c])) continue;
        ASSERT_EQ(table_.find(first + held[c], entry_), ChunkTable::Place::seen);
        ASSERT_EQ(entry_->state, ChunkState::complete);
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
