#include "dataplane/io/fair_backlog.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace tributary::dataplane {
namespace {

using enum TrafficClass;
using Entry = FairBacklog::Entry;

// Frames are not looked into: a place stands for each.
std::array<std::byte, 128> places;
rte_mbuf* frame(std::size_t number) {
  return reinterpret_cast<rte_mbuf*>(&places[number]);
}
std::size_t number_of(const rte_mbuf* frame) {
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(frame) - places.data());
}

TEST(FairBacklog, KeepsTheOrderOfEachClass) {
  FairBacklog backlog;
  for (std::size_t i = 1; i <= 100; ++i)
    ASSERT_TRUE(backlog.push({frame(i), 500, i % 3 == 0 ? jobs : others}));
  std::size_t last[kTrafficClasses] = {};
  for (int i = 0; i < 100; ++i) {
    const Entry entry = backlog.pop();
    const auto number = number_of(entry.frame);
    EXPECT_EQ(entry.traffic, number % 3 == 0 ? jobs : others);
    EXPECT_GT(number, std::exchange(last[static_cast<std::size_t>(entry.traffic)], number));
  }
  EXPECT_TRUE(backlog.empty());
}

TEST(FairBacklog, AFloodOfOneLeavesTheOtherItsRoom) {
  for (const TrafficClass flood : {jobs, others}) {
    const TrafficClass other = flood == jobs ? others : jobs;
    FairBacklog backlog;
    for (std::size_t i = 0; i < FairBacklog::kRoom; ++i)
      ASSERT_TRUE(backlog.push({frame(1), 64, flood}));
    EXPECT_FALSE(backlog.push({frame(1), 64, flood}));
    EXPECT_TRUE(backlog.push({frame(2), 64, other}));
    EXPECT_EQ(backlog.size(flood), FairBacklog::kRoom);
    EXPECT_EQ(backlog.size(other), 1u);
  }
}

// In bytes, whatever the sizes of frames.
TEST(FairBacklog, WhoAlwaysHasFramesGetsHalf) {
  FairBacklog backlog;
  constexpr std::uint32_t kBytes[kTrafficClasses] = {90, 1500};
  std::uint64_t bytes[kTrafficClasses] = {};
  for (int i = 0; i < 100'000; ++i) {
    for (const TrafficClass traffic : {jobs, others})
      while (backlog.push({frame(1), kBytes[static_cast<std::size_t>(traffic)], traffic})) {
      }
    const Entry entry = backlog.pop();
    bytes[static_cast<std::size_t>(entry.traffic)] += entry.bytes;
  }
  const auto apart = static_cast<double>(bytes[0]) - static_cast<double>(bytes[1]);
  EXPECT_LE(std::abs(apart), 2.0 * FairBacklog::kQuantum) << bytes[0] << " and " << bytes[1];
}

TEST(FairBacklog, WhatOneLeavesTheOtherUsesAndNothingIsSavedUp) {
  FairBacklog backlog;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(backlog.push({frame(1), 9'000, others}));
    EXPECT_EQ(backlog.pop().traffic, others);
  }
  for (std::size_t i = 0; i < FairBacklog::kRoom; ++i) {
    ASSERT_TRUE(backlog.push({frame(1), 1000, others}));
    ASSERT_TRUE(backlog.push({frame(2), 1000, jobs}));
  }
  // In a flood that begins now, no class gets more than its turn before the other has one.
  std::size_t in_a_row = 0;
  TrafficClass last = others;
  for (int i = 0; i < 64; ++i) {
    const Entry entry = backlog.pop();
    in_a_row = entry.traffic == last ? in_a_row + 1 : 1;
    last = entry.traffic;
    EXPECT_LE(in_a_row, 2 * FairBacklog::kQuantum / 1000 + 1);
  }
}

}  // namespace
}  // namespace tributary::dataplane
