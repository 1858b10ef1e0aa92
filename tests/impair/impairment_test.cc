#include "tools/impair/impairment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tributary::impair {
namespace {

constexpr std::uint64_t kSeed = 20240229;
constexpr Instant kNow = Instant::from_ns(1'000);

TEST(Impairment, PerfectNetworkTouchesNothing) {
  Impairment network({}, kSeed);
  for (std::size_t bytes : {0, 60, 9000}) {
    const Decision d = network.decide(bytes, kNow);
    EXPECT_EQ(d.copies, 1u);
    EXPECT_EQ(d.corrupt_bit, Decision::kNoBit);
    EXPECT_EQ(d.release, kNow);
  }
  EXPECT_EQ(network.counts().frames, 3u);
}

TEST(Impairment, CertaintiesAlwaysHappen) {
  Impairment all_dropped({.drop_ppm = 1'000'000, .duplicate_ppm = 1'000'000}, kSeed);
  EXPECT_EQ(all_dropped.decide(60, kNow).copies, 0u);
  EXPECT_EQ(all_dropped.counts().duplicated, 0u) << "a dropped frame is not counted twice";

  Impairment rest({.duplicate_ppm = 1'000'000,
                   .reorder_ppm = 1'000'000,
                   .corrupt_ppm = 1'000'000,
                   .delay = Duration::us(10),
                   .reorder_delay = Duration::us(5)},
                  kSeed);
  const Decision d = rest.decide(60, kNow);
  EXPECT_EQ(d.copies, 2u);
  EXPECT_LT(d.corrupt_bit, 480u);
  EXPECT_EQ(d.release, kNow + Duration::us(15));
}

// A byte a microsecond, as a queue in front of a slow cable does it.
TEST(Impairment, ABottleneckDelaysMarksAndDrops) {
  Impairment network({.delay = Duration::us(5),
                      .bits_per_second = 8'000'000,
                      .queue_bytes = 300,
                      .mark_bytes = 100},
                     kSeed);
  const Decision first = network.decide(100, kNow);
  EXPECT_EQ(first.release, kNow + Duration::us(105));
  EXPECT_FALSE(first.mark);
  const Decision second = network.decide(100, kNow);
  EXPECT_EQ(second.release, kNow + Duration::us(205));
  EXPECT_TRUE(second.mark);
  EXPECT_EQ(network.decide(100, kNow).copies, 1u);
  EXPECT_EQ(network.decide(1, kNow).copies, 0u);
  const Decision later = network.decide(100, kNow + Duration::us(300));
  EXPECT_EQ(later.release, kNow + Duration::us(405));
  EXPECT_FALSE(later.mark);
  EXPECT_EQ(network.counts().overflowed, 1u);
  EXPECT_EQ(network.counts().queued, 2u);
}

TEST(Impairment, RatesAreAsConfigured) {
  SCOPED_TRACE(kSeed);
  Impairment network({.drop_ppm = 10'000, .duplicate_ppm = 20'000, .reorder_ppm = 30'000}, kSeed);
  constexpr std::uint64_t kFrames = 1'000'000;
  for (std::uint64_t i = 0; i < kFrames; ++i) network.decide(100, kNow);
  const auto near = [](std::uint64_t count, double expected) {
    // Six standard deviations of a binomial; the stream is fixed, so this cannot flake.
    return std::abs(static_cast<double>(count) - expected) < 6 * std::sqrt(expected);
  };
  EXPECT_PRED2(near, network.counts().dropped, 10'000.0);
  EXPECT_PRED2(near, network.counts().duplicated, 20'000.0 * 0.99);
  EXPECT_PRED2(near, network.counts().reordered, 30'000.0 * 0.99);
  EXPECT_EQ(network.counts().corrupted, 0u);
}

std::vector<std::uint32_t> copies_of(const ImpairmentConfig& config, std::uint64_t seed) {
  Impairment network(config, seed);
  std::vector<std::uint32_t> copies;
  for (int i = 0; i < 1000; ++i) copies.push_back(network.decide(100, kNow).copies);
  return copies;
}

TEST(Impairment, SameSeedSameDecisions) {
  const ImpairmentConfig config{.drop_ppm = 100'000, .duplicate_ppm = 100'000};
  EXPECT_EQ(copies_of(config, 7), copies_of(config, 7));
  EXPECT_NE(copies_of(config, 7), copies_of(config, 8));
}

TEST(Impairment, OneProbabilityDoesNotShiftTheOthers) {
  const ImpairmentConfig plain{.drop_ppm = 100'000};
  const ImpairmentConfig with_reorder{.drop_ppm = 100'000, .reorder_ppm = 500'000};
  EXPECT_EQ(copies_of(plain, kSeed), copies_of(with_reorder, kSeed));
}

}  // namespace
}  // namespace tributary::impair
