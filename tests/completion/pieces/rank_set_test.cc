#include "completion/pieces/rank_set.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/prng.h"

namespace tributary::completion {
namespace {

using Words = std::vector<std::uint64_t>;

TEST(RankSet, AgreesWithAnOrdinarySet) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const std::uint32_t limit = 1 + prng.below(200);
    Words a((limit + 63) / 64);
    Words b(a.size());
    std::set<std::uint32_t> in_a;
    std::set<std::uint32_t> in_b;
    for (std::uint32_t i = prng.below(limit + 1); i > 0; --i) {
      const std::uint32_t ra = prng.below(limit);
      const std::uint32_t rb = prng.below(limit);
      insert(a, ra);
      insert(b, rb);
      in_a.insert(ra);
      in_b.insert(rb);
    }
    std::uint32_t common = 0;
    for (std::uint32_t r = 0; r < limit; ++r) {
      ASSERT_EQ(contains(a, r), in_a.contains(r));
      common += in_a.contains(r) && in_b.contains(r);
    }
    EXPECT_EQ(count(a), in_a.size());
    EXPECT_EQ(count_common(a, b), common);
    EXPECT_EQ(overlap(a, b), common != 0);
    EXPECT_EQ(lowest(a), in_a.empty() ? 64 * a.size() : *in_a.begin());
    EXPECT_EQ(is_prefix(a), in_a.empty() || *in_a.rbegin() + 1 == in_a.size());
    std::vector<std::uint32_t> visited;
    for_each(a, [&](std::uint32_t r) { visited.push_back(r); });
    EXPECT_EQ(visited, std::vector(in_a.begin(), in_a.end()));
    Words both = a;
    unite(both, b);
    EXPECT_EQ(count(both), in_a.size() + in_b.size() - common);
    subtract(both, b);
    EXPECT_EQ(count(both), in_a.size() - common);
  }
}

TEST(RankSet, PrefixesEndAnywhere) {
  Words set(3);
  EXPECT_TRUE(is_prefix(set));
  for (std::uint32_t r = 0; r < 192; ++r) {
    insert(set, r);
    EXPECT_TRUE(is_prefix(set)) << r;
  }
  Words gap(3);
  insert(gap, 64);
  EXPECT_FALSE(is_prefix(gap));
}

}  // namespace
}  // namespace tributary::completion
