#include "dataplane/switch/heartbeat.h"

#include <gtest/gtest.h>

#include "tests/dataplane/port_steps.h"

namespace tributary::dataplane {
namespace {

// What feeds the watchdog.
TEST(Heartbeat, NeedsATurnOfEveryLoop) {
  RingSwitch sw(with_lcores(2, 2));
  Heartbeat heart(sw.packet_loops());
  sw.turn();
  const std::uint64_t first = heart.beat();
  EXPECT_EQ(heart.beat(), first);
  sw.turn(0);
  sw.turn(0);
  EXPECT_EQ(heart.beat(), first) << "lcore 1 hangs";
  sw.turn(1);
  EXPECT_NE(heart.beat(), first);
}

}  // namespace
}  // namespace tributary::dataplane
