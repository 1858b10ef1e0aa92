#include "core/invariant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/core/survived_breaches.h"

namespace tributary {
namespace {

void print(const char* what, const char*, int) {
  std::fprintf(stderr, "broken: %s\n", what);
}

TEST(Invariant, WhatHoldsCostsNothingAndIsNotCounted) {
  const SurvivedBreaches breaches;
  int evaluated = 0;
  TRIBUTARY_INVARIANT(++evaluated == 1);
  EXPECT_TRUE(TRIBUTARY_INVARIANT_HOLDS(++evaluated == 2));
  EXPECT_EQ(evaluated, 2);
  EXPECT_EQ(breaches.count(), 0u);
}

// In a process of its own: so many are told of since it began.
TEST(InvariantDeathTest, ABreachThatAPacketMayCauseIsCountedAndToldAFewTimes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto survive_a_hundred = [] {
    const SurvivedBreaches breaches;
    report_breaches(
        [](const char* what, const char*, int) { std::fprintf(stderr, "broken: %s\n", what); });
    const int pieces = 2;
    int held = 0;
    for (int i = 0; i < 100; ++i) held += TRIBUTARY_INVARIANT_HOLDS(pieces == 1) ? 1 : 0;
    std::exit(held == 0 && breaches.count() == 100 ? 0 : 1);
  };
  const auto is_told_a_few_times = [](const std::string& told) {
    const auto lines = std::count(told.begin(), told.end(), '\n');
    return lines > 0 && lines <= 16 && told.find("broken: pieces == 1") != std::string::npos;
  };
  EXPECT_EXIT(survive_a_hundred(), testing::ExitedWithCode(0), testing::Truly(is_told_a_few_times));
}

TEST(InvariantDeathTest, NoPacketCanCauseItAndTheProcessEnds) {
  const SurvivedBreaches breaches;
  report_breaches(print);
  EXPECT_DEATH(TRIBUTARY_INVARIANT(1 + 1 == 3), "broken: 1 \\+ 1 == 3");
}

TEST(InvariantDeathTest, ForACheckedBuildEveryBreachIsFatal) {
  const SurvivedBreaches breaches;
  make_breaches_fatal(true);
  report_breaches(print);
  EXPECT_DEATH(static_cast<void>(TRIBUTARY_INVARIANT_HOLDS(false)), "broken: false");
}

}  // namespace
}  // namespace tributary
