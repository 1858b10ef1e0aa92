#include "dataplane/switch/loop_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/port_steps.h"

namespace tributary::dataplane {
namespace {

TEST(LoopChanges, EachLoopGetsItsOwnWithWhatItNeeds) {
  RingSwitch sw(with_lcores(2, 2));
  config::SwitchConfig next = sw.config();
  next.ports[1].mtu = 1400;
  config::Change change;
  change.ports.resized = {1};
  const auto prepared =
      prepare_loops(sw.packet_loops(), sw.config(), next, change, sw.pools().plan().machine);
  ASSERT_EQ(prepared.size(), 2u);
  for (const auto& of_loop : prepared) {
    EXPECT_THAT(of_loop->mtus, testing::ElementsAre(testing::Pair(1, 1400u)));
    EXPECT_FALSE(of_loop->plan) << "no port comes or goes";
    EXPECT_EQ(of_loop->forget, 0u);
  }
}

TEST(LoopChanges, ADeviceThatIsExchangedIsToldToEachLoop) {
  RingSwitch sw(with_lcores(2, 2));
  config::SwitchConfig next = sw.config();
  config::Change change;
  change.ports.exchanged = {1};
  const config::Machine machine = sw.pools().plan().machine;
  const auto prepared = prepare_loops(sw.packet_loops(), sw.config(), next, change, machine);
  OpenPorts opened;
  opened.emplace_back(1, Port::closed(next.ports[1]));
  tell_loops(opened, change.ports, prepared, machine);
  for (const auto& of_loop : prepared)
    EXPECT_THAT(of_loop->ports, testing::ElementsAre(testing::Pair(1, opened[0].second.get())));
}

}  // namespace
}  // namespace tributary::dataplane
