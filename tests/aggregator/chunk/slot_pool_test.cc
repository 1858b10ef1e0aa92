#include "aggregator/chunk/slot_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "tests/core/survived_breaches.h"

namespace tributary::aggregator {
namespace {

// Rule 8: a job does not collide with itself while its window fits the pool, at any seed. Where
// seqs wrap, that takes a pool whose size is a power of two.
TEST(SlotPool, SeqsOfAWindowHaveSlotsOfTheirOwn) {
  for (const std::uint32_t slots : {16u, 17u, 100u, 4096u}) {
    const SlotPool pool(slots, {16});
    for (const std::uint8_t seed : std::array<std::uint8_t, 3>{0, 1, 255}) {
      for (const std::uint32_t first : {0u, 1000u, 0x7FFFFFF8u, 0xFFFFFFF8u}) {
        if (first == 0xFFFFFFF8u && !std::has_single_bit(slots)) continue;
        std::set<std::uint32_t> taken;
        for (std::uint32_t s = 0; s < 16; ++s) taken.insert(pool.slot_of(7, seed, first + s));
        EXPECT_EQ(taken.size(), 16u);
        EXPECT_LT(*taken.rbegin(), slots);
      }
    }
  }
}

TEST(SlotPool, AnotherSeedIsAnotherPlace) {
  const SlotPool pool(1000, {16});
  std::set<std::uint32_t> places;
  for (int seed = 0; seed < 16; ++seed)
    places.insert(pool.slot_of(7, static_cast<std::uint8_t>(seed), 0));
  EXPECT_GT(places.size(), 12u);
}

// Rule 15: fewer than one in eight is left, and another job may collide.
TEST(SlotPool, Rule15_SlotsAreScarceForThoseWhoShareThem) {
  SlotPool pool(16, {16, 16});
  pool.start(0);
  for (std::uint32_t s = 0; s < 15; ++s) EXPECT_TRUE(pool.take(s, 0, s, Instant()));
  EXPECT_FALSE(pool.scarce()) << "a job that is alone meets nobody";
  pool.start(1);
  EXPECT_TRUE(pool.scarce());
  EXPECT_TRUE(pool.crowded_by(0));
  EXPECT_FALSE(pool.crowded_by(1)) << "it has none";
  EXPECT_TRUE(pool.give(3, 0));
  EXPECT_FALSE(pool.scarce());
  EXPECT_TRUE(pool.take(3, 1, 0, Instant()));
  EXPECT_TRUE(pool.scarce());
  EXPECT_TRUE(pool.crowded_by(1));
  pool.stop(1);
  EXPECT_FALSE(pool.scarce());
  EXPECT_FALSE(pool.crowded_by(0));
}

// O8: two jobs that collide may both change their seeds, and then each must get somewhere else than
// the other: of all their seeds only as many bring them together as chance does.
TEST(SlotPool, O8_SeedsAreNotDrawnInCircles) {
  constexpr std::uint32_t kSlots = 4096;
  constexpr std::uint32_t kWindow = 64;
  constexpr std::uint32_t kJobs = 64;
  constexpr int kSeeds = 256;
  const SlotPool pool(kSlots, {kSlots});
  const auto together = [&](std::uint32_t a, std::uint32_t b, int seed) {
    const auto s = static_cast<std::uint8_t>(seed);
    const std::uint32_t apart = (pool.slot_of(a, s, 0) - pool.slot_of(b, s, 0)) % kSlots;
    return apart < kWindow || apart > kSlots - kWindow;
  };
  int most = 0;
  for (std::uint32_t a = 0; a < kJobs; ++a) {
    for (std::uint32_t b = a + 1; b < kJobs; ++b) {
      int meetings = 0;
      for (int seed = 0; seed < kSeeds; ++seed) meetings += together(a, b, seed) ? 1 : 0;
      most = std::max(most, meetings);
    }
  }
  EXPECT_LT(most, kSeeds / 8) << "chance: " << kSeeds * 2 * kWindow / kSlots << " on average";
}

TEST(SlotPool, SharesFollowWhoRuns) {
  SlotPool pool(8, {8, 8, 0});
  pool.start(0);
  for (std::uint32_t s = 0; s < 6; ++s) {
    EXPECT_TRUE(pool.may_take(0));
    EXPECT_TRUE(pool.take(s, 0, s, Instant()));
  }
  pool.start(1);  // comes late: what is free is its own, up to its share
  EXPECT_FALSE(pool.may_take(0));
  EXPECT_TRUE(pool.may_take(1));
  EXPECT_TRUE(pool.give(0, 0));
  EXPECT_TRUE(pool.give(1, 0));
  EXPECT_FALSE(pool.may_take(0));
  pool.stop(1);
  EXPECT_TRUE(pool.may_take(0));
  pool.stop(0);
  EXPECT_EQ(pool.free(), 8u);
  EXPECT_FALSE(pool.may_take(2));
}

// A defect changes no slot's owner.
TEST(SlotPool, ASlotHasOneOwner) {
  SlotPool pool(4, {4, 4});
  pool.start(0);
  pool.start(1);
  EXPECT_TRUE(pool.take(2, 0, 10, Instant()));
  const SurvivedBreaches breaches;
  EXPECT_FALSE(pool.take(2, 1, 20, Instant()));
  EXPECT_FALSE(pool.give(2, 1));
  EXPECT_FALSE(pool.give(3, 1)) << "it is free";
  EXPECT_EQ(breaches.count(), 3u);
  EXPECT_EQ(pool.owner(2).job, 0u);
  EXPECT_EQ(pool.owner(2).seq, 10u);
  EXPECT_EQ(pool.free(), 3u);
  EXPECT_EQ(pool.held(0), 1u);
  EXPECT_EQ(pool.held(1), 0u);
}

}  // namespace
}  // namespace tributary::aggregator
