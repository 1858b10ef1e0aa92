#include "aggregator/names/arc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "core/prng.h"
#include "tests/aggregator/names/cache_trace.h"

namespace tributary::aggregator {
namespace {

constexpr std::uint32_t kEntries = 4096;

// The algorithm of the paper over plain lists, slow and plain. Front: most recent.
class Paper {
 public:
  explicit Paper(std::size_t capacity) : c_(capacity) {}
  bool ask(std::uint32_t x) {
    if (remove(t1_, x) || remove(t2_, x)) {
      t2_.push_front(x);
      return true;
    }
    if (has(b1_, x)) {
      p_ = std::min(c_, p_ + std::max<std::size_t>(1, b2_.size() / b1_.size()));
      replace(false);
      remove(b1_, x);
      t2_.push_front(x);
      return false;
    }
    if (has(b2_, x)) {
      p_ -= std::min(p_, std::max<std::size_t>(1, b1_.size() / b2_.size()));
      replace(true);
      remove(b2_, x);
      t2_.push_front(x);
      return false;
    }
    if (t1_.size() + b1_.size() == c_) {
      if (t1_.size() < c_) {
        b1_.pop_back();
        replace(false);
      } else {
        t1_.pop_back();
      }
    } else if (const std::size_t all = t1_.size() + t2_.size() + b1_.size() + b2_.size();
               all >= c_) {
      if (all == 2 * c_) b2_.pop_back();
      replace(false);
    }
    t1_.push_front(x);
    return false;
  }

 private:
  using Entries = std::deque<std::uint32_t>;
  static bool has(const Entries& list, std::uint32_t x) {
    return std::find(list.begin(), list.end(), x) != list.end();
  }
  static bool remove(Entries& list, std::uint32_t x) {
    const auto at = std::find(list.begin(), list.end(), x);
    if (at == list.end()) return false;
    list.erase(at);
    return true;
  }
  void replace(bool in_b2) {
    if (!t1_.empty() && ((in_b2 && t1_.size() == p_) || t1_.size() > p_)) {
      b1_.push_front(t1_.back());
      t1_.pop_back();
    } else {
      b2_.push_front(t2_.back());
      t2_.pop_back();
    }
  }
  std::size_t c_;
  std::size_t p_ = 0;
  Entries t1_, t2_, b1_, b2_;
};

// Zipf with exponent 0.99, and scans of what is asked for once in between.
std::vector<std::uint32_t> trace(std::size_t length, bool scans) {
  Zipf zipf(kEntries / 2, 7);
  std::vector<std::uint32_t> asked;
  std::uint32_t scanned = kEntries / 2;
  while (asked.size() < length) {
    if (scans && asked.size() % 1000 < 300) {
      asked.push_back(scanned);
      scanned = scanned + 1 == kEntries ? kEntries / 2 : scanned + 1;
      continue;
    }
    asked.push_back(zipf.draw());
  }
  return asked;
}

// C4
TEST(Arc, IsThePapersAlgorithm) {
  for (const std::uint32_t capacity : {1u, 2u, 3u, 16u, 100u}) {
    Arc arc(64, capacity);
    Paper paper(capacity);
    Prng random(capacity);
    for (int i = 0; i < 20000; ++i) {
      const auto entry = static_cast<std::uint32_t>(random.next() % (i % 3 == 0 ? 64 : 8));
      ASSERT_EQ(ask(arc, entry), paper.ask(entry)) << "capacity " << capacity << " at " << i;
      ASSERT_LE(arc.held(), capacity);
    }
  }
}

// C4: at least LRU's hit rate on the same trace, and more where scans pass through.
TEST(Arc, HitsAtLeastAsOftenAsLru) {
  for (const bool scans : {false, true}) {
    constexpr std::uint32_t kCapacity = 128;
    Arc arc(kEntries, kCapacity);
    Lru lru(kCapacity);
    int arc_hits = 0;
    int lru_hits = 0;
    for (const std::uint32_t entry : trace(200'000, scans)) {
      arc_hits += ask(arc, entry) ? 1 : 0;
      lru_hits += lru.ask(entry) ? 1 : 0;
    }
    RecordProperty(scans ? "arc_with_scans" : "arc", arc_hits);
    RecordProperty(scans ? "lru_with_scans" : "lru", lru_hits);
    EXPECT_GE(arc_hits, lru_hits);
    if (scans) {
      EXPECT_GT(arc_hits, lru_hits + lru_hits / 20);
    }
  }
}

TEST(Arc, WhatIsErasedIsForgotten) {
  Arc arc(8, 2);
  arc.insert(0);
  arc.insert(1);
  arc.erase(0);
  EXPECT_FALSE(arc.remembers(0));
  EXPECT_EQ(arc.held(), 1u);
  EXPECT_EQ(arc.insert(2).evicted, Arc::kNone);
  EXPECT_NE(arc.insert(3).evicted, Arc::kNone);
}

}  // namespace
}  // namespace tributary::aggregator
