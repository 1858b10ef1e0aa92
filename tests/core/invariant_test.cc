#include "core/invariant.h"

#include <gtest/gtest.h>

#include <cstdio>
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

TEST(Invariant, ABreachThatAPacketMayCauseIsCountedAndToldAFewTimes) {
  static int told;
  const SurvivedBreaches breaches;
  const int pieces = 2;
  for (int again = 0; again < 2; ++again) {  // later breaches are told, too
    told = 0;
    report_breaches([](const char* what, const char*, int) {
      told += std::string(what) == "pieces == 1" ? 1 : 100;
    });
    int held = 0;
    for (int i = 0; i < 100; ++i) held += TRIBUTARY_INVARIANT_HOLDS(pieces == 1) ? 1 : 0;
    EXPECT_EQ(held, 0);
    EXPECT_GT(told, 0);
    EXPECT_LE(told, 16);
  }
  report_breaches(nullptr);
  EXPECT_EQ(breaches.count(), 200u);
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
