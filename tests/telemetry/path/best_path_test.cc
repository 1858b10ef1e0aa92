#include "telemetry/path/best_path.h"

#include <gtest/gtest.h>

#include "core/prng.h"

namespace tributary::telemetry {
namespace {

// Every simple path, by trying all.
void walk(const PathNetwork& network, std::size_t at, std::size_t to, std::vector<bool>& seen,
          std::vector<std::size_t>& links, std::vector<Candidate>& out) {
  if (at == to) {
    out.push_back({links, *figures_of(network, links)});
    return;
  }
  seen[at] = true;
  for (std::size_t i = 0; i < network.links.size(); ++i) {
    const PathLink& link = network.links[i];
    if (!link.up || link.from != at || seen[link.to]) continue;
    links.push_back(i);
    walk(network, link.to, to, seen, links, out);
    links.pop_back();
  }
  seen[at] = false;
}

PathNetwork random_network(Prng& random) {
  PathNetwork network{{"a", "b", "c", "d", "e", "f"}, {}};
  for (std::size_t i = 0; i < 14; ++i) {
    PathLink link{random.below(6), random.below(6),        static_cast<std::uint16_t>(i),
                  std::nullopt,    random.below(5) * 1000, random.below(8) != 0};
    if (random.below(5) != 0)
      link.latency = Duration::us(static_cast<std::int64_t>(random.below(9)));
    if (link.from != link.to) network.links.push_back(link);
  }
  return network;
}

TEST(BestPath, C7_IsTheBestOfAllPaths) {
  Prng random(11);
  for (int round = 0; round < 2000; ++round) {
    const PathNetwork network = random_network(random);
    std::vector<bool> seen(6);
    std::vector<std::size_t> links;
    std::vector<Candidate> all;
    walk(network, 0, 5, seen, links, all);
    for (const PathGoal goal :
         {PathGoal::least_latency, PathGoal::most_bandwidth, PathGoal::fewest_hops}) {
      const auto found = candidates(network, 0, 5, goal);
      ASSERT_EQ(found.empty(), all.empty()) << "round " << round;
      if (found.empty()) continue;
      EXPECT_EQ(figures_of(network, found.front().links), found.front().figures);
      for (const Candidate& other : all)
        ASSERT_FALSE(better(goal, other.figures, found.front().figures))
            << "round " << round << ": " << text_of(network, other.links) << " beats "
            << text_of(network, found.front().links);
    }
  }
}

TEST(BestPath, FewestHopsBreaksTiesByLatency) {
  const PathNetwork network{{"a", "b", "c", "d"},
                            {{0, 1, 0, Duration::us(9), 1, true},
                             {1, 3, 0, Duration::us(9), 1, true},
                             {0, 2, 1, Duration::us(1), 1, true},
                             {2, 3, 0, Duration::us(1), 1, true}}};
  const auto found = candidates(network, 0, 3, PathGoal::fewest_hops);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(text_of(network, found[0].links), "a -1-> c -0-> d");
}

// What all paths begin with is no choice, and a host passes nothing on.
TEST(BestPath, C7_CandidatesBranchAtTheFirstNodeWithSeveralWays) {
  PathNetwork network{{"host", "a", "b", "c", "d", "other"}, {}};
  const auto add = [&](std::size_t from, std::size_t to, std::uint16_t port, std::int64_t us) {
    network.links.push_back({.from = from,
                             .to = to,
                             .egress_port = port,
                             .latency = Duration::us(us),
                             .free_bps = 1,
                             .from_host = from == 0 || from == 5});
  };
  add(0, 1, 0, 1);
  add(1, 0, 0, 1);
  add(1, 2, 1, 9);
  add(1, 3, 2, 5);
  add(1, 5, 3, 0);  // the fastest, but for what is there
  add(5, 4, 0, 0);
  add(2, 4, 0, 1);
  add(3, 4, 0, 1);
  const auto found = candidates(network, 0, 4, PathGoal::least_latency);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(text_of(network, found[0].links), "host -0-> a -2-> c -0-> d");
  EXPECT_EQ(text_of(network, found[1].links), "host -0-> a -1-> b -0-> d");
  EXPECT_EQ(found[0].figures.hops, 3u);
  EXPECT_EQ(candidates(network, 0, 5, PathGoal::least_latency)[0].figures.hops, 2u);
  EXPECT_EQ(candidates(network, 5, 1, PathGoal::least_latency).size(), 0u) << "d has no way out";
}

// A link without figures is not a fast one.
TEST(BestPath, UnknownLatencyIsWorseThanAnyKnown) {
  const PathNetwork network{
      {"a", "b"}, {{0, 1, 0, std::nullopt, 1, true}, {0, 1, 1, Duration::seconds(1), 1, true}}};
  EXPECT_EQ(candidates(network, 0, 1, PathGoal::least_latency).front().links,
            std::vector<std::size_t>{1});
}

}  // namespace
}  // namespace tributary::telemetry
