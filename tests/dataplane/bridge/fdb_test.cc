#include "dataplane/bridge/fdb.h"

#include <gtest/gtest.h>

#include <array>

#include "core/prng.h"

namespace tributary::dataplane {
namespace {

constexpr Duration kAgeing = Duration::seconds(300);
Instant at(std::int64_t seconds) {
  return Instant() + Duration::seconds(seconds);
}
wire::MacAddress mac(std::uint32_t n) {
  return {2,
          0,
          static_cast<std::uint8_t>(n >> 24),
          static_cast<std::uint8_t>(n >> 16),
          static_cast<std::uint8_t>(n >> 8),
          static_cast<std::uint8_t>(n)};
}

TEST(MacKey, IsTheAddressInItsVlan) {
  constexpr wire::MacAddress kMac = {0x02, 0x74, 0x0A, 0x4D, 0xFE, 0x81};
  static_assert(mac_bits(kMac) == 0x02740A4DFE81);
  static_assert(mac_key(kMac, 0x0FFE) == 0x0FFE02740A4DFE81);
  static_assert(mac_of_key(mac_key(kMac, 0x0FFE)) == kMac);
  static_assert((mac_key(kMac, 0x0FFF) & kGroupBit) == 0);
  static_assert((mac_key({0x01, 0, 0, 0, 0, 0}, 0) & kGroupBit) != 0);
}

TEST(MacKey, AFramesAddressesAreReadWhereTheyLie) {
  std::array<std::byte, wire::kEthernetBytes> frame;
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::byte>(0xF0 + i);
  wire::EthernetView view;
  ASSERT_EQ(wire::parse_ethernet(frame, view), DropReason::none);
  const MacPair pair = mac_pair(frame);
  EXPECT_EQ(pair.destination, mac_bits(view.destination));
  EXPECT_EQ(pair.source, mac_bits(view.source));
}

// C1: small or related seeds, and addresses that differ little, make no long chains: as many keys
// as places meet no more often than by chance.
TEST(MacKey, KeysMeetNoMoreThanByChance) {
  constexpr unsigned kBits = 10;
  constexpr std::uint64_t kKeys = std::uint64_t{1} << kBits;
  constexpr std::uint64_t kSeeds = 64;
  constexpr std::uint64_t kByChance = kSeeds * kKeys / 2;
  for (const unsigned step : {0U, 8U, 16U, 38U, 48U}) {  // where in the key they differ
    std::uint64_t pairs = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      std::array<std::uint32_t, kKeys> met{};
      for (std::uint64_t n = 0; n < kKeys; ++n)
        pairs +=
            met[hash_mac_key(mac_bits(mac(7)) ^ (n << step), hash_multiplier(seed), 64 - kBits)]++;
    }
    EXPECT_LE(pairs, kByChance + kByChance / 8) << "bits from " << step;
  }
}

TEST(Fdb, LearnsPerVlan) {
  Fdb fdb(16, kAgeing, 3, 1);
  fdb.learn(mac(1), 0, 2, at(0));
  EXPECT_EQ(fdb.lookup(mac(1), 0, at(0)), 2);
  EXPECT_EQ(fdb.lookup(mac(1), 7, at(0)), std::nullopt);
  fdb.learn(mac(1), 7, 1, at(0));
  EXPECT_EQ(fdb.lookup(mac(1), 0, at(0)), 2);
  EXPECT_EQ(fdb.lookup(mac(1), 7, at(0)), 1);
}

TEST(Fdb, MacMoves) {
  Fdb fdb(16, kAgeing, 3, 1);
  fdb.learn(mac(1), 0, 0, at(0));
  fdb.learn(mac(1), 0, 2, at(1));
  EXPECT_EQ(fdb.lookup(mac(1), 0, at(1)), 2);
  EXPECT_EQ(fdb.counters().moved.get(), 1u);
  EXPECT_EQ(fdb.counters().entries.get(), 1u);
}

TEST(Fdb, AgesExactlyAndRefreshes) {
  Fdb fdb(16, kAgeing, 1, 1);
  fdb.learn(mac(1), 0, 0, at(0));
  fdb.learn(mac(2), 0, 0, at(0));
  fdb.learn(mac(1), 0, 0, at(100));
  EXPECT_TRUE(fdb.lookup(mac(2), 0, at(300) - Duration::ns(1)));
  EXPECT_FALSE(fdb.lookup(mac(2), 0, at(300)));  // even before expire() has run
  EXPECT_EQ(fdb.expire(at(300), 16), 1u);
  EXPECT_TRUE(fdb.lookup(mac(1), 0, at(399)));
  EXPECT_EQ(fdb.expire(at(400), 16), 1u);
  EXPECT_EQ(fdb.counters().entries.get(), 0u);
}

TEST(Fdb, ExpireIsBounded) {
  Fdb fdb(16, kAgeing, 1, 1);
  for (std::uint32_t i = 0; i < 10; ++i) fdb.learn(mac(i), 0, 0, at(0));
  EXPECT_EQ(fdb.expire(at(300), 4), 4u);
  EXPECT_EQ(fdb.expire(at(300), 16), 6u);
}

TEST(Fdb, ForgetsWhatAPortHasNotSeenSince) {
  Fdb fdb(16, kAgeing, 2, 1);
  for (std::uint32_t i = 0; i < 5; ++i) fdb.learn(mac(i), 0, 0, at(i));
  fdb.learn(mac(9), 0, 1, at(0));
  EXPECT_EQ(fdb.forget(0, at(3), 2), 2u) << "no more than that in one call";
  EXPECT_EQ(fdb.forget(0, at(3), 2), 1u);
  EXPECT_EQ(fdb.forget(0, at(3), 2), 0u);
  EXPECT_FALSE(fdb.lookup(mac(2), 0, at(5)));
  EXPECT_TRUE(fdb.lookup(mac(3), 0, at(5)));
  EXPECT_TRUE(fdb.lookup(mac(9), 0, at(5)));
  EXPECT_EQ(fdb.counters().entries.get(), 3u);
  EXPECT_EQ(fdb.counters().forgotten.get(), 3u);
}

TEST(Fdb, StaticNeitherMovesNorAges) {
  Fdb fdb(16, kAgeing, 2, 1);
  Fdb::Statics statics;
  statics.add(mac(1), 1);
  fdb.swap_statics(statics);
  fdb.learn(mac(1), 0, 0, at(0));
  EXPECT_EQ(fdb.lookup(mac(1), 0, at(100'000)), 1);
  EXPECT_EQ(fdb.lookup(mac(1), 9, at(0)), 1);  // on every VLAN
  EXPECT_EQ(fdb.counters().entries.get(), 0u);
}

TEST(Fdb, WhatWasLearnedOfAStaticAddressIsForgotten) {
  Fdb fdb(16, kAgeing, 3, 1);
  for (const std::uint16_t vlan : std::to_array<std::uint16_t>({0, 7, 4095}))
    fdb.learn(mac(1), vlan, 0, at(0));
  fdb.learn(mac(2), 7, 0, at(0));
  Fdb::Statics statics;
  statics.add(mac(1), 2);
  statics.add(mac(3), 2);
  fdb.swap_statics(statics);
  for (int turn = 0; turn < 2 * 4096 / 64; ++turn) fdb.expire(at(0), 1);
  for (const std::uint16_t vlan : std::to_array<std::uint16_t>({0, 7, 4095}))
    EXPECT_EQ(fdb.lookup(mac(1), vlan, at(0)), 2);
  EXPECT_EQ(fdb.lookup(mac(2), 7, at(0)), 0);
  EXPECT_EQ(fdb.counters().entries.get(), 1u);
}

// A port that invents addresses pushes out its own entries, not those of quiet ports.
TEST(Fdb, EvictionIsFair) {
  Fdb fdb(16, kAgeing, 3, 1);
  fdb.learn(mac(1), 0, 0, at(0));
  fdb.learn(mac(2), 0, 1, at(0));
  for (std::uint32_t i = 0; i < 1000; ++i) fdb.learn(mac(100 + i), 0, 2, at(1));
  EXPECT_EQ(fdb.lookup(mac(1), 0, at(1)), 0);
  EXPECT_EQ(fdb.lookup(mac(2), 0, at(1)), 1);
  EXPECT_EQ(fdb.counters().entries.get(), 16u);
  EXPECT_EQ(fdb.counters().evicted.get(), 1000u - 14u);
  EXPECT_TRUE(fdb.lookup(mac(1099), 0, at(1)));
  EXPECT_FALSE(fdb.lookup(mac(100), 0, at(1)));
  // A quiet port still gets room for a new one.
  fdb.learn(mac(3), 0, 0, at(2));
  EXPECT_EQ(fdb.lookup(mac(3), 0, at(2)), 0);
  EXPECT_EQ(fdb.lookup(mac(2), 0, at(2)), 1);
}

TEST(Fdb, APortTeachesNoMoreThanItMay) {
  Fdb fdb(16, kAgeing, 2, 1);
  fdb.limit(1, 2);
  for (std::uint32_t n = 0; n < 5; ++n) fdb.learn(mac(n), 0, 1, at(0));
  EXPECT_TRUE(fdb.lookup(mac(1), 0, at(0)));
  EXPECT_FALSE(fdb.lookup(mac(2), 0, at(0)));
  EXPECT_EQ(fdb.counters().limited.get(), 3u);
  fdb.learn(mac(1), 0, 1, at(299));  // one that it has is refreshed
  fdb.learn(mac(9), 0, 0, at(299));  // other ports have no limit
  fdb.learn(mac(9), 0, 1, at(299));  // nor does it take theirs
  EXPECT_EQ(fdb.lookup(mac(9), 0, at(299)), 0);
  EXPECT_EQ(fdb.expire(at(300), 16), 1u);
  fdb.learn(mac(7), 0, 1, at(300));
  EXPECT_EQ(fdb.lookup(mac(7), 0, at(300)), 1);
}

TEST(Fdb, AnAddressThatMovesAgainAndAgainFlaps) {
  Fdb fdb(16, kAgeing, 2, 1);
  const auto move = [&](std::uint32_t times, std::int64_t second) {
    for (std::uint32_t n = 0; n < times; ++n) {
      const std::uint16_t port = fdb.lookup(mac(1), 0, at(second)) == 0 ? 1 : 0;
      fdb.learn(mac(1), 0, port, at(second));
    }
  };
  fdb.learn(mac(1), 0, 0, at(0));
  move(4, 1);
  EXPECT_EQ(fdb.counters().flapping.get(), 0u);
  move(1, 10);
  EXPECT_EQ(fdb.counters().flapping.get(), 1u);
  move(4, 11);
  move(4, 21);  // ten seconds later: counted anew
  EXPECT_EQ(fdb.counters().flapping.get(), 1u);
  EXPECT_EQ(fdb.counters().moved.get(), 13u);
}

TEST(Fdb, RowsListEverything) {
  Fdb fdb(16, kAgeing, 2, 1);
  Fdb::Statics statics;
  statics.add(mac(1), 1);
  fdb.swap_statics(statics);
  fdb.learn(mac(2), 5, 0, at(3));
  const auto rows = fdb.rows(at(10));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].is_static);
  EXPECT_EQ(rows[1].mac, mac(2));
  EXPECT_EQ(rows[1].vlan, 5);
  EXPECT_EQ(rows[1].age, Duration::seconds(7));
}

// A look at a large table takes no longer than its piece, whatever is asked for.
TEST(Fdb, O1_ALookIsOfSoManyPlacesAndNoMore) {
  constexpr std::uint32_t kLooks = 8;
  Fdb fdb(64, kAgeing, 2, 1);
  for (std::uint8_t n = 0; n < 50; ++n) fdb.learn(mac(n), n % 3, n % 2, at(1));
  fdb.forget(1, at(2), 10);  // places in between are free
  for (const FdbFilter& filter :
       {FdbFilter{}, FdbFilter{{}, 1}, FdbFilter{2, {}}, FdbFilter{2, 0}, FdbFilter{7, {}}}) {
    std::vector<FdbRow> pieces;
    pieces.reserve(64);
    std::uint32_t place = 0;
    for (std::uint32_t looks = kLooks; place != fdb.capacity(); looks += kLooks) {
      const std::size_t before = pieces.size();
      fdb.learned_rows(place, kLooks, filter, at(3), pieces);
      EXPECT_EQ(place, looks) << "and not as far as the next row that passes";
      EXPECT_LE(pieces.size() - before, kLooks);
    }
    std::vector<FdbRow> wanted = fdb.rows(at(3));
    std::erase_if(wanted, [&](const FdbRow& row) {
      return filter.vlan.value_or(row.vlan) != row.vlan ||
             filter.port.value_or(row.port) != row.port;
    });
    ASSERT_EQ(pieces.size(), wanted.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(pieces[i].mac, wanted[i].mac);
  }
  EXPECT_EQ(fdb.rows(at(3)).size(), 40u);
}

// Against a slow model: whatever the order of events, a hit is what was learned last.
TEST(Fdb, AgreesWithAModel) {
  constexpr std::uint64_t kSeed = 20260101;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Prng random(kSeed);
  Fdb fdb(64, kAgeing, 4, random.next());
  struct Seen {
    std::uint16_t port;
    Instant when;
  };
  std::unordered_map<std::uint32_t, Seen> model;  // 48 addresses: no eviction
  Instant now;
  for (int step = 0; step < 20'000; ++step) {
    now = now + Duration::seconds(random.below(20));
    const std::uint32_t n = random.below(48);
    if (random.below(2) == 0) {
      const auto port = static_cast<std::uint16_t>(random.below(4));
      fdb.learn(mac(n), 0, port, now);
      model[n] = {port, now};
    } else {
      const auto it = model.find(n);
      const bool fresh = it != model.end() && now - it->second.when < kAgeing;
      const auto found = fdb.lookup(mac(n), 0, now);
      ASSERT_EQ(found.has_value(), fresh) << "step " << step;
      if (fresh) {
        ASSERT_EQ(*found, it->second.port);
      }
    }
    fdb.expire(now, 1);
    ASSERT_LE(fdb.counters().entries.get(), 48u);
  }
}

TEST(Fdb, CapacityMustBeAPowerOfTwo) {
  EXPECT_THROW(Fdb(12, kAgeing, 1, 1), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::dataplane
