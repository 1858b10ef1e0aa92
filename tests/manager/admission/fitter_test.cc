#include "manager/admission/fitter.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FitterTest : public testing::Test {
 protected:
  FitterTest() {
    Inventory inventory = two_level_tree();
    for (auto& sw : inventory.switches) sw.slots = 128;
    topology = assemble(inventory);
    index = TreeIndex(topology);
    amounts.set_switches(topology);
    workers.set_workers(topology, index);
  }
  static config::TopologyJob job(std::uint32_t ranks, const std::vector<std::string>& named = {}) {
    config::TopologyJob made;
    made.config.name = "x";
    made.config.workers = ranks;
    for (const std::string& worker : named)
      made.members.push_back({static_cast<std::uint32_t>(made.members.size()), worker});
    return made;
  }
  Fit fit(const config::TopologyJob& wanted, const std::set<std::string>& held = {}) {
    std::optional<SwitchAmounts::ByName> needs;
    return Fitter(topology, index, amounts, workers, before ? &*before : nullptr)
        .fit(wanted, needs, {.used = amounts.used(), .held = held});
  }
  static std::vector<std::string> nodes_of(const SwitchAmounts::ByName& needs) {
    std::vector<std::string> names;
    for (const auto& [node, need] : needs) names.push_back(node);
    return names;
  }

  config::Topology topology;
  TreeIndex index;
  SwitchAmounts amounts;
  FreeWorkers workers;
  std::optional<TreeBefore> before;
};

TEST_F(FitterTest, NeedsOfAJobAreOfTheSwitchesBetweenItsMembers) {
  EXPECT_THAT(nodes_of(fit(job(2, {"w0", "w1"})).needs), ElementsAre("A"));
  EXPECT_THAT(nodes_of(fit(job(2, {"w0", "w4"})).needs), ElementsAre("A", "B", "root"));
  EXPECT_THAT(fit(job(1, {"w77"})).shortage, HasSubstr("there is no worker 'w77'"));
}

TEST_F(FitterTest, ASwitchThatIsHeldIsLeftOutAndSoIsOneWithoutRoom) {
  EXPECT_THAT(nodes_of(fit(job(2), {"A"}).needs), ElementsAre("B"));
  amounts.take({{"B", {.slots = 128}}});
  EXPECT_THAT(nodes_of(fit(job(2)).needs), ElementsAre("A"));
  const Fit none = fit(job(2), {"A"});
  EXPECT_THAT(none.shortage, HasSubstr("needs 64 slots at B, which has 128 and 128 in use"));
  EXPECT_TRUE(none.held_back);
  EXPECT_THAT(none.full, ElementsAre("B"));
}

TEST_F(FitterTest, AJobForADrainedWorkerKeepsNoSwitchFromOthers) {
  workers.drain("w3", true, topology, index);
  const Fit found = fit(job(1, {"w3"}));
  EXPECT_EQ(found.shortage, "worker w3 is drained");
  EXPECT_TRUE(found.nodes.empty());
  EXPECT_THAT(fit(job(5)).shortage, HasSubstr("4 workers can be used"));
}

TEST_F(FitterTest, WhileASwitchMovesThereIsRoomOnBothTrees) {
  before.emplace(TreeBefore{topology, index, "switch B moves from root to A"});
  const Fit found = fit(job(2, {"w3", "w4"}));
  EXPECT_EQ(found.shortage, "");
  EXPECT_EQ(found.needs_before, found.needs);
  before->used["B"] = {.slots = 128};
  EXPECT_THAT(fit(job(2, {"w3", "w4"})).shortage,
              HasSubstr("128 in use, while switch B moves from root to A"));
}

}  // namespace
}  // namespace tributary::manager
