#include "sim/node/held_data.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/udp/address_book.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

// Reads bytes that must not be read any more.
[[gnu::no_sanitize_address]] bool is_all(std::span<const std::byte> bytes, std::byte value) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes.data()[i] != value) return false;
  return true;
}

class HeldDataTest : public ::testing::Test {
 protected:
  HeldDataTest() {
    Scenario scenario;
    scenario.jobs.resize(1);
    engine_.emplace(plan_network(scenario).switches[0].config, dataplane::kUdpAddresses,
                    aggregator::EngineStart{});
  }
  FrameRef frame(std::uint8_t value) {
    FrameRef ref = frames_.take();
    ref.writable().bytes.assign(100, std::byte{value});
    return ref;
  }

  FramePool frames_;
  std::optional<aggregator::Engine> engine_;
};

TEST_F(HeldDataTest, WhatIsKeptStaysUntilTheTurnEnds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    HeldData held(128, 1, seed);
    ASSERT_TRUE(held.holds());
    const auto kept = held.keep(frame(0x21));
    EXPECT_TRUE(is_all(kept, std::byte{0x21}));
    held.finish(*engine_);
    EXPECT_TRUE(is_all(kept, std::byte{0xDE})) << "seed " << seed;
  }
}

TEST_F(HeldDataTest, BurstsAfterWhichNothingWaitsKeepNothing) {
  HeldData held(1, 1, 1);
  const auto first = held.keep(frame(0x21));
  held.end_frame(*engine_);
  EXPECT_TRUE(is_all(first, std::byte{0xDE})) << "one frame is a burst here";
  const auto second = held.keep(frame(0x0F));
  EXPECT_TRUE(is_all(second, std::byte{0x0F}));
  EXPECT_TRUE(is_all(first, std::byte{0xDE})) << "and its place is not the next one's";
  held.end_frame(*engine_);
}

TEST_F(HeldDataTest, WhatIsLentIsSpoiledWhenItIsGivenBack) {
  HeldData held(128, 1, 1);
  const auto lent = held.lend(frame(0x21));
  EXPECT_TRUE(is_all(lent, std::byte{0x21}));
  held.give_back();
  EXPECT_TRUE(is_all(lent, std::byte{0xDE}));
}

TEST_F(HeldDataTest, NothingIsHeldWhereNoSumWaits) {
  EXPECT_FALSE(HeldData(0, 4, 1).holds());
}

}  // namespace
}  // namespace tributary::sim
