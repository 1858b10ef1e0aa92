// Exclusion by history (T12, T13): combining, choosing, taking back, and policies that make no
// sense.
#include "control/stragglers/straggler_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tributary::control {
namespace {

using config::Combine;
using config::ExcludeBy;
using config::StragglerPolicy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Duration tenths(int n) {
  return Duration::ms(100 * n);
}

// T13's vector, w111 w112 w113 w121 w122 w131..w137.
constexpr std::array kTwelve = {tenths(0),  tenths(21), tenths(45), tenths(13),
                                tenths(5),  tenths(5),  tenths(3),  tenths(15),
                                tenths(60), tenths(20), tenths(30), tenths(40)};
constexpr std::uint32_t kW113 = 2;
constexpr std::uint32_t kW134 = 8;
constexpr std::uint32_t kW137 = 11;

TEST(StragglerChoice, T13TheNLargest) {
  EXPECT_THAT(largest(kTwelve, 1), ElementsAre(kW134));
  EXPECT_THAT(largest(kTwelve, 3), ElementsAre(kW134, kW113, kW137));
  EXPECT_THAT(largest(kTwelve, 0), IsEmpty());
  EXPECT_EQ(largest(kTwelve, 99).size(), kTwelve.size());
}

TEST(StragglerChoice, T13StrictlyAboveTheThreshold) {
  EXPECT_THAT(above(kTwelve, Duration::seconds(4)), ElementsAre(kW134, kW113));
  EXPECT_THAT(above(kTwelve, Duration::seconds(4) - Duration::ns(1)),
              ElementsAre(kW134, kW113, kW137));
  EXPECT_THAT(above(kTwelve, Duration::seconds(6)), IsEmpty());
}

TEST(StragglerChoice, OfEqualOnesTheFirst) {
  const std::array same = {tenths(1), tenths(2), tenths(2)};
  EXPECT_THAT(largest(same, 1), ElementsAre(1));
}

StragglerPolicy policy(ExcludeBy by, std::uint32_t ops = 1) {
  StragglerPolicy p;
  p.exclude = by;
  p.ops = ops;
  p.threshold = Duration::ms(100);
  p.recovered_below = Duration::ms(10);
  p.recovered_ops = 2;
  return p;
}
using Lateness = std::vector<Duration>;
Lateness ms(std::initializer_list<int> values) {
  Lateness all;
  for (const int v : values) all.push_back(Duration::ms(v));
  return all;
}

// The vector as one op's: both ways of choosing name the same as the bare functions.
TEST(StragglerHistory, T13TheVectorThroughTheHistory) {
  StragglerPolicy p = policy(ExcludeBy::largest);
  EXPECT_THAT(StragglerHistory(p, 12).add(kTwelve).exclude, ElementsAre(kW134));
  p = policy(ExcludeBy::threshold);
  p.threshold = Duration::seconds(4);
  EXPECT_THAT(StragglerHistory(p, 12).add(kTwelve).exclude, ElementsAre(kW134, kW113));
}

TEST(StragglerHistory, MeanOrMaximumOverKOps) {
  StragglerPolicy p = policy(ExcludeBy::none, 3);
  for (const Combine combine : {Combine::mean, Combine::maximum}) {
    p.combine = combine;
    StragglerHistory h(p, 2);
    h.add(ms({0, 90}));
    h.add(ms({0, 30}));
    EXPECT_EQ(h.combined(), ms({0, 0})) << "too few to judge by";
    h.add(ms({3, 0}));
    EXPECT_EQ(h.combined(), combine == Combine::mean ? ms({1, 40}) : ms({3, 90}));
    h.add(ms({0, 0}));
    EXPECT_EQ(h.combined(), combine == Combine::mean ? ms({1, 10}) : ms({3, 30}))
        << "the first is forgotten";
  }
}

TEST(StragglerHistory, ExcludesOnceAndNobodyIsExcludedTwice) {
  StragglerHistory h(policy(ExcludeBy::threshold, 2), 3);
  EXPECT_EQ(h.add(ms({0, 0, 500})), StragglerHistory::Changes());
  EXPECT_THAT(h.add(ms({0, 0, 500})).exclude, ElementsAre(2));
  EXPECT_EQ(h.add(ms({0, 0, 500})), StragglerHistory::Changes());
  EXPECT_TRUE(h.excluded(2));
}

// Hysteresis: below the lower limit, in a row.
TEST(StragglerHistory, T13TakesBackWhoIsWellForLongEnough) {
  StragglerHistory h(policy(ExcludeBy::threshold), 3);
  h.add(ms({0, 0, 500}));
  ASSERT_TRUE(h.excluded(2));
  for (const int lateness : {50, 9, 10, 9})  // never twice below 10
    EXPECT_THAT(h.add(ms({0, 0, lateness})).take_back, IsEmpty()) << lateness;
  EXPECT_THAT(h.add(ms({0, 0, 0})).take_back, ElementsAre(2));
  EXPECT_FALSE(h.excluded(2));
  EXPECT_THAT(h.add(ms({0, 0, 101})).exclude, ElementsAre(2));
}

// What it did before its recovery is still within the last K ops.
TEST(StragglerHistory, WhoWasTakenBackIsNotBlamedForOldLateness) {
  StragglerHistory h(policy(ExcludeBy::threshold, 4), 2);
  for (int op = 0; op < 4; ++op) h.add(ms({0, 800}));
  ASSERT_TRUE(h.excluded(1));
  h.add(ms({0, 0}));
  EXPECT_EQ(h.add(ms({0, 0})), (StragglerHistory::Changes{{}, {1}}));
  EXPECT_EQ(h.add(ms({0, 0})), StragglerHistory::Changes());
  EXPECT_FALSE(h.excluded(1));
}

// The largest of those on time are no stragglers; and N counts all that are out.
TEST(StragglerHistory, TheLargestAreExcludedOnlyIfTheyAreLate) {
  StragglerPolicy p = policy(ExcludeBy::largest);
  p.most = 2;
  StragglerHistory h(p, 4);
  EXPECT_THAT(h.add(ms({0, 3, 10, 1})).exclude, IsEmpty());
  EXPECT_THAT(h.add(ms({0, 11, 400, 1})).exclude, ElementsAre(2, 1));
  EXPECT_THAT(h.add(ms({0, 11, 400, 900})).exclude, IsEmpty());
}

TEST(StragglerHistory, SomebodyIsAlwaysWaitedFor) {
  StragglerHistory h(policy(ExcludeBy::threshold), 2);
  EXPECT_THAT(h.add(ms({300, 500})).exclude, ElementsAre(1));
  StragglerHistory alone(policy(ExcludeBy::threshold), 1);
  EXPECT_THAT(alone.add(ms({300})).exclude, IsEmpty());
}

TEST(StragglerHistory, WhatWasDoneByHandCounts) {
  StragglerHistory h(policy(ExcludeBy::threshold), 2);
  h.set_excluded(1, true);
  EXPECT_THAT(h.add(ms({0, 500})).exclude, IsEmpty());
  h.set_excluded(1, false);
  EXPECT_THAT(h.add(ms({0, 500})).exclude, ElementsAre(1));
  h.reset();
  EXPECT_FALSE(h.excluded(1));
}

TEST(StragglerHistory, RefusesPoliciesThatMakeNoSense) {
  const auto refusal = [](void (*change)(StragglerPolicy&)) {
    StragglerPolicy p = policy(ExcludeBy::threshold);
    change(p);
    try {
      const StragglerHistory made(p, 3);
    } catch (const std::invalid_argument& why) {
      return std::string(why.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([](StragglerPolicy&) {}), "accepted");
  EXPECT_THAT(refusal([](StragglerPolicy& p) { p.ops = 0; }), HasSubstr("0 ops"));
  EXPECT_THAT(refusal([](StragglerPolicy& p) { p.recovered_ops = 0; }), HasSubstr("in a row"));
  EXPECT_THAT(refusal([](StragglerPolicy& p) { p.recovered_below = Duration(); }),
              HasSubstr("more than 0s"));
  EXPECT_THAT(refusal([](StragglerPolicy& p) { p.recovered_below = Duration::ms(101); }),
              HasSubstr("at most `threshold`"));
  EXPECT_THAT(refusal([](StragglerPolicy& p) {
                p.exclude = ExcludeBy::largest;
                p.most = 0;
              }),
              HasSubstr("0 largest"));
}

}  // namespace
}  // namespace tributary::control
