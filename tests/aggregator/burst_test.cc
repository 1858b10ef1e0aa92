#include "aggregator/burst.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using Burst = EngineTest;

// Looking ahead neither skips nor repeats a packet, whatever the burst's size.
TEST_F(Burst, EveryPacketIsHandledOnceAndInOrder) {
  const Engine engine(test_switch({test_job()}), {1});
  for (const std::size_t count : {0u, 1u, 3u, 4u, 5u, 32u}) {
    std::vector<wire::Packet> packets(count);
    std::vector<std::size_t> handled;
    handle_burst(
        engine, count, [&](std::size_t i) -> const wire::Packet& { return packets.at(i); },
        [&](std::size_t i) { handled.push_back(i); });
    ASSERT_EQ(handled.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(handled[i], i);
  }
}

}  // namespace
}  // namespace tributary::aggregator
