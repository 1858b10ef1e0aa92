#include "telemetry/table/replay_guard.h"

#include <gtest/gtest.h>

namespace tributary::telemetry {
namespace {

constexpr std::uint64_t kNow = 1'800'000'000'000'000'000;
constexpr auto kSkew = static_cast<std::uint64_t>(ReplayGuard::kMostSkew.to_ns());

TEST(ReplayGuard, C6_EachSequenceCountsOnce) {
  ReplayGuard guard;
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(guard.note(kNow + i, kNow), Freshness::fresh);
  for (std::uint64_t i = 0; i < 200; ++i)
    EXPECT_EQ(guard.note(kNow + i, kNow), Freshness::replayed) << i;
}

TEST(ReplayGuard, C6_DatagramsOutOfOrderCountWithinTheLatest) {
  ReplayGuard guard;
  constexpr std::uint64_t kLate = 1;
  for (std::uint64_t i = 0; i < ReplayGuard::kRemembered; ++i) {
    if (i != kLate) {
      EXPECT_EQ(guard.note(kNow + i, kNow), Freshness::fresh);
    }
  }
  EXPECT_EQ(guard.note(kNow + kLate, kNow), Freshness::fresh) << "it was overtaken";
  EXPECT_EQ(guard.note(kNow + kLate, kNow), Freshness::replayed);
  EXPECT_EQ(guard.note(kNow - 1, kNow), Freshness::replayed) << "below all that are known";
}

TEST(ReplayGuard, C6_WhatIsTooFarFromTheClockIsStaleAndForgotten) {
  ReplayGuard guard;
  EXPECT_EQ(guard.note(kNow - kSkew - 1, kNow), Freshness::stale);
  EXPECT_EQ(guard.note(kNow + kSkew + 1, kNow), Freshness::stale);
  EXPECT_EQ(guard.note(0, kNow), Freshness::stale);
  EXPECT_EQ(guard.note(~std::uint64_t{0}, kNow), Freshness::stale);
  EXPECT_EQ(guard.note(kNow - kSkew, kNow), Freshness::fresh) << "none of them moved the limit";
  EXPECT_EQ(guard.note(kNow + kSkew, kNow), Freshness::fresh);
}

TEST(ReplayGuard, C6_ClocksThatAreSetBackLockNoSenderOut) {
  constexpr std::uint64_t kHour = 3600 * std::uint64_t{1'000'000'000};
  ReplayGuard guard;
  std::uint64_t sequence = 0;
  const auto send = [&](std::uint64_t now) {
    sequence = ReplayGuard::sequence_after(sequence, now);
    return guard.note(sequence, now);
  };
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(send(kNow + kHour), Freshness::fresh);
  EXPECT_EQ(sequence, kNow + kHour + 99) << "one more than the last";
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(send(kNow + i), Freshness::fresh) << i;
  EXPECT_EQ(guard.note(sequence, kNow), Freshness::replayed);
  EXPECT_EQ(send(kNow - kSkew / 2), Freshness::fresh);
  EXPECT_EQ(sequence, kNow + 100) << "a little back, it goes on";
}

}  // namespace
}  // namespace tributary::telemetry
