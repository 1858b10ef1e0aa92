#include "telemetry/path/path_chooser.h"

#include <gtest/gtest.h>

#include "core/prng.h"

namespace tributary::telemetry {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;

// main -0-> a -0-> worker, and main -1-> b -0-> worker.
PathNetwork diamond() {
  PathNetwork network{{"main", "a", "b", "worker"}, {}};
  network.links = {{0, 1, 0, Duration::us(100), 10 * kGiga, true},
                   {0, 2, 1, Duration::us(100), 10 * kGiga, true},
                   {1, 3, 0, Duration::us(100), 10 * kGiga, true},
                   {2, 3, 0, Duration::us(100), 10 * kGiga, true}};
  return network;
}

Instant at_ms(std::int64_t ms) {
  return Instant::from_ns(ms * 1'000'000);
}

const std::vector<std::size_t> kByA{0, 2};
const std::vector<std::size_t> kByB{1, 3};

// Ten minutes, a report of each link in 10 ms, each up to 10 % off.
TEST(PathChooser, C7_TwoEqualLinksNeverMove) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  Prng random(7);
  unsigned changes = 0;
  for (std::int64_t ms = 0; ms < 600'000; ms += 10) {
    for (PathLink& link : network.links)
      link.latency = Duration::ns(90'000 + static_cast<std::int64_t>(random.below(20'001)));
    changes += chooser.decide(network, at_ms(ms)).changed ? 1 : 0;
  }
  EXPECT_EQ(changes, 1u);  // the first one
}

TEST(PathChooser, C7_LeavesALinkThatBecomesBadWithinASecond) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  ASSERT_EQ(chooser.decide(network, at_ms(0)).chosen.links, kByA);
  network.links[2].latency = Duration::ms(5);
  std::int64_t ms = 10;
  for (; ms < 1000 && !chooser.decide(network, at_ms(ms)).changed; ms += 10) {
  }
  EXPECT_EQ(ms, 210);  // the time to settle
  const PathDecision after = chooser.decide(network, at_ms(ms + 10));
  EXPECT_EQ(after.chosen.links, kByB);
  EXPECT_EQ(after.reason, PathReason::stays);
}

// Ten minutes over two links that are told apart by noise alone, as probes see them.
TEST(PathChooser, C7_ATreeOnEqualLinksNeverMoves) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {.least_gain = Duration::us(200)});
  chooser.follow(network, 1);
  Prng random(11);
  for (std::int64_t ms = 0; ms < 600'000; ms += 100) {
    for (PathLink& link : network.links)
      link.latency = Duration::us(static_cast<std::int64_t>(random.below(150)));
    const PathDecision decision = chooser.decide(network, at_ms(ms));
    ASSERT_FALSE(decision.changed) << ms;
    ASSERT_EQ(decision.chosen.links, kByB);
  }
}

TEST(PathChooser, FollowsWhatIsInForce) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  chooser.follow(network, 1);
  PathDecision decision = chooser.decide(network, at_ms(0));
  EXPECT_FALSE(decision.changed);
  EXPECT_EQ(decision.chosen.links, kByB);
  EXPECT_EQ(decision.reason, PathReason::stays);
  chooser.follow(network, 7);  // leads nowhere
  EXPECT_EQ(chooser.decide(network, at_ms(1)).chosen.links, kByB);
  chooser.follow(network, 0);
  EXPECT_EQ(chooser.decide(network, at_ms(2)).chosen.links, kByA);
}

TEST(PathChooser, HoldsAfterAMove) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  chooser.decide(network, at_ms(0));
  network.links[0].up = false;
  ASSERT_TRUE(chooser.decide(network, at_ms(10)).changed);
  network.links[0].up = true;
  network.links[1].latency = Duration::ms(5);
  for (std::int64_t ms = 20; ms < 220; ms += 10)
    ASSERT_EQ(chooser.decide(network, at_ms(ms)).reason, PathReason::settling);
  EXPECT_EQ(chooser.decide(network, at_ms(220)).reason, PathReason::held);
  EXPECT_EQ(chooser.decide(network, at_ms(5009)).reason, PathReason::held);
  EXPECT_EQ(chooser.decide(network, at_ms(5010)).reason, PathReason::moved);
}

TEST(PathChooser, ABriefDisturbanceDoesNotMove) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  chooser.decide(network, at_ms(0));
  for (std::int64_t ms = 10; ms < 10'000; ms += 10) {
    network.links[0].latency = ms / 100 % 2 == 0 ? Duration::ms(5) : Duration::us(100);
    EXPECT_FALSE(chooser.decide(network, at_ms(ms)).changed);
  }
}

TEST(PathChooser, LeavesASwitchThatDiedAtOnce) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  chooser.decide(network, at_ms(0));
  network.links[2].up = false;
  const PathDecision moved = chooser.decide(network, at_ms(1));
  EXPECT_TRUE(moved.changed);
  EXPECT_EQ(moved.reason, PathReason::link_down);
  EXPECT_EQ(moved.chosen.links, kByB);
  network.links[3].up = false;
  const PathDecision gone = chooser.decide(network, at_ms(2));
  EXPECT_TRUE(gone.changed && gone.chosen.links.empty());
  EXPECT_FALSE(chooser.decide(network, at_ms(3)).changed);
}

// Switches refuse the move, and the path in force is followed again.
TEST(PathChooser, C7_ADeadPathThatIsStillInForceIsLeftOnceInAHold) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  ASSERT_EQ(chooser.decide(network, at_ms(0)).chosen.links, kByA);
  network.links[2].up = false;
  unsigned moves = 0;
  for (std::int64_t ms = 100; ms <= 11'000; ms += 100) {
    const PathDecision decision = chooser.decide(network, at_ms(ms));
    moves += decision.changed ? 1 : 0;
    if (!decision.changed) {
      EXPECT_EQ(decision.reason, PathReason::held);
      EXPECT_EQ(decision.chosen.links, kByA);
    }
    chooser.follow(network, 0);  // the port of kByA
  }
  EXPECT_EQ(moves, 3u);
  network.links[2].up = true;
  EXPECT_EQ(chooser.decide(network, at_ms(12'000)).chosen.links, kByA);
  network.links[2].up = false;
  EXPECT_EQ(chooser.decide(network, at_ms(12'100)).reason, PathReason::link_down)
      << "it died again";
}

TEST(PathChooser, WhereNothingElseIsThereADeadPathIsToldOfOnce) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  ASSERT_EQ(chooser.decide(network, at_ms(0)).chosen.links, kByA);
  for (PathLink& link : network.links) link.up = false;
  unsigned told = 0;
  for (std::int64_t ms = 100; ms <= 20'000; ms += 100) {
    told += chooser.decide(network, at_ms(ms)).changed ? 1 : 0;
    chooser.follow(kByA);
  }
  EXPECT_EQ(told, 1u);
}

TEST(PathChooser, MovesToMoreBandwidth) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {.goal = PathGoal::most_bandwidth, .settle = Duration::ms(0)});
  chooser.decide(network, at_ms(0));
  network.links[0].free_bps = 9 * kGiga;
  EXPECT_EQ(chooser.decide(network, at_ms(10)).reason, PathReason::within_margin);
  network.links[0].free_bps = 2 * kGiga;
  EXPECT_EQ(chooser.decide(network, at_ms(20)).chosen.links, kByB);
}

TEST(PathChooser, ExplainsWithTheFiguresOfAllCandidates) {
  PathNetwork network = diamond();
  PathChooser chooser(0, 3, {});
  network.links[0].latency = Duration::ms(5);
  EXPECT_EQ(explain(network, chooser.decide(network, at_ms(0))),
            "main -1-> b -0-> worker: first path found\n"
            "  main -1-> b -0-> worker: 200 us, 10000 Mb/s free, 2 hops\n"
            "  main -0-> a -0-> worker: 5100 us, 10000 Mb/s free, 2 hops");
}

}  // namespace
}  // namespace tributary::telemetry
