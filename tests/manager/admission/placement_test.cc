// Placement against a brute-force reference: every connected set of switches of random trees.
#include "manager/admission/placement.h"

#include <gtest/gtest.h>

#include <bit>
#include <tuple>

#include "core/prng.h"

namespace tributary::manager {
namespace {

using Sites = std::vector<Site>;
// Number of sites and their load; nullopt: no set will do.
using Cost = std::optional<std::pair<std::size_t, std::uint32_t>>;

bool is_connected(const Sites& sites, std::uint32_t set) {
  std::uint32_t tops = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    if (!sites[i].usable) return false;
    if (!sites[i].parent || (set >> *sites[i].parent & 1) == 0) ++tops;
  }
  return tops == 1;
}

// All of them, each with workers of the set below it and elsewhere.
bool has_hosts(const Sites& sites, std::uint32_t set) {
  std::vector<std::uint32_t> below(sites.size());
  std::uint32_t all = 0;
  for (std::size_t i = sites.size(); i-- > 0;) {
    if ((set >> i & 1) == 0) continue;
    below[i] += sites[i].workers;
    all += sites[i].workers;
    if (sites[i].parent) below[*sites[i].parent] += below[i];
  }
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (sites[i].hosts && ((set >> i & 1) == 0 || below[i] == 0 || below[i] == all)) return false;
  return true;
}

Cost cheapest(const Sites& sites, std::uint32_t workers) {
  Cost best;
  for (std::uint32_t set = 1; set < 1u << sites.size(); ++set) {
    if (!is_connected(sites, set) || !has_hosts(sites, set)) continue;
    std::uint32_t there = 0;
    std::uint32_t load = 0;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      there += (set >> i & 1) * sites[i].workers;
      load += (set >> i & 1) * sites[i].load;
    }
    const auto cost = std::pair(static_cast<std::size_t>(std::popcount(set)), load);
    if (there >= workers && (!best || cost < *best)) best = cost;
  }
  return best;
}

Sites random_tree(Prng& random, bool hosts) {
  Sites sites(1 + random.below(10));
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (i > 0) sites[i].parent = random.below(static_cast<std::uint32_t>(i));
    sites[i].workers = static_cast<std::uint32_t>(random.below(5));
    sites[i].load = static_cast<std::uint32_t>(random.below(101));
    sites[i].usable = random.below(6) != 0;
    sites[i].hosts = hosts && random.below(6) == 0;
  }
  return sites;
}

TEST(Placement, IsTheCheapestOfAllSets) {
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    Prng random(seed);
    const bool hosts = seed % 2 == 1;
    const Sites sites = random_tree(random, hosts);
    const auto workers = static_cast<std::uint32_t>((hosts ? 2 : 1) + random.below(12));
    const Cost expected = cheapest(sites, workers);
    const auto chosen = place(sites, workers);
    ASSERT_EQ(chosen.has_value(), expected.has_value()) << "seed " << seed;
    if (!chosen) continue;
    std::uint32_t set = 0;
    std::uint32_t load = 0;
    std::uint32_t there = 0;
    for (const std::size_t i : *chosen) {
      set |= 1u << i;
      load += sites[i].load;
      there += sites[i].workers;
    }
    EXPECT_TRUE(is_connected(sites, set)) << "seed " << seed;
    EXPECT_GE(there, workers) << "seed " << seed;
    EXPECT_EQ(std::pair(chosen->size(), load), *expected) << "seed " << seed;
  }
}

TEST(Placement, OneSwitchBeforeTwoHoweverLoaded) {
  const Sites sites = {{std::nullopt, 1, 0, true}, {0, 2, 90, true}, {0, 1, 0, true}};
  EXPECT_EQ(place(sites, 2), std::vector<std::size_t>{1});
  EXPECT_EQ(place(sites, 3), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(place(sites, 5), std::nullopt);
}

TEST(Placement, T10_AHostIsBelowTheRootOfTheJob) {
  Sites sites = {{std::nullopt, 0, 0, true}, {0, 4, 0, true}, {0, 4, 0, true}};
  EXPECT_EQ(place(sites, 2), std::vector<std::size_t>{1});
  sites[1].hosts = true;
  EXPECT_EQ(place(sites, 2), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(place(sites, 1), std::nullopt);
  sites[2].usable = false;
  EXPECT_EQ(place(sites, 2), std::nullopt);
}

}  // namespace
}  // namespace tributary::manager
