// A host on the network that means harm.
#include <gtest/gtest.h>

#include "sim/run/simulation.h"
#include "sim/scenario/scenario_file.h"
#include "tests/source_dir.h"

namespace tributary::sim {
namespace {

std::uint64_t dropped(const Outcome& outcome, DropReason reason) {
  return outcome.reach.switch_drops[static_cast<std::size_t>(reason)];
}

// Rule 18, T9: under each of its names no rank hears it, and every kind of lie is counted.
TEST(Hostile, SpeaksForNoSwitchAndNoHost) {
  Scenario s = load_scenario(tests::source_dir() + "/tests/sim/scenarios/hostile-direct.yaml");
  for (s.seed = 1; s.seed <= 5; ++s.seed) {
    SCOPED_TRACE("seed " + std::to_string(s.seed));
    const Outcome outcome = simulate(s);
    EXPECT_FALSE(outcome.failure) << *outcome.failure;
    EXPECT_GE(outcome.reach.fault_total(FaultKind::impersonation), 100u);
    for (const DropReason reason : {DropReason::sender_mismatch, DropReason::wrong_ingress_port,
                                    DropReason::own_address, DropReason::vlan_stacked})
      EXPECT_GE(dropped(outcome, reason), 10u) << drop_label(reason);
  }
}

}  // namespace
}  // namespace tributary::sim
