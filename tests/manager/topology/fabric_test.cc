// Trees from reports: parents, roots, and what is no tree.
#include "manager/topology/fabric.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

std::string error_of(const Inventory& inventory) {
  try {
    assemble(inventory);
  } catch (const FabricError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Fabric, LinksBecomeParents) {
  const config::Topology topology = assemble(two_level_tree());
  ASSERT_EQ(topology.switches.size(), 3u);
  EXPECT_EQ(topology.switches[0].parent, "");
  EXPECT_EQ(topology.switches[1].parent, "root");
  EXPECT_EQ(topology.switches[1].uplink, "up");
  EXPECT_EQ(topology.switches[1].parent_port, "p0");
  EXPECT_EQ(topology.switches[2].parent_port, "p1");
  EXPECT_EQ(topology.workers.size(), 5u);
}

TEST(Fabric, ALinkThatBothEndsReportIsOne) {
  Inventory inventory = two_level_tree();
  const Link link = inventory.links[0];
  inventory.links.push_back({link.b, link.a});
  EXPECT_EQ(assemble(inventory).switches[1].parent, "root");
}

TEST(Fabric, TheMiddleSwitchIsTheRootWhereNoneIsNamed) {
  Inventory inventory = two_level_tree();
  inventory.root.clear();
  EXPECT_EQ(assemble(inventory).switches[0].parent, "");
  inventory.root = "A";
  EXPECT_EQ(assemble(inventory).switches[0].parent, "A");
  EXPECT_EQ(assemble(inventory).switches[2].parent, "root");
}

TEST(Fabric, ACycleIsRefusedWithItsWay) {
  Inventory inventory = two_level_tree();
  inventory.links.push_back({{"A", "spare"}, {"B", "spare"}});
  EXPECT_THAT(error_of(inventory),
              HasSubstr("the link A.spare - B.spare closes a cycle: A -> B -> root -> A"));
}

TEST(Fabric, TwoRootsAreRefusedByName) {
  Inventory inventory = two_level_tree();
  inventory.links.pop_back();
  EXPECT_THAT(error_of(inventory), HasSubstr("two roots: no link joins B to root"));
}

TEST(Fabric, EndsThatDoNotExistAreNamed) {
  Inventory inventory = two_level_tree();
  inventory.links.push_back({{"A", "p9"}, {"C", "up"}});
  EXPECT_THAT(error_of(inventory), HasSubstr("link end A.p9: A has no port p9"));
  EXPECT_THAT(error_of(inventory), HasSubstr("link end C.up: no switch is called C"));
  inventory = two_level_tree();
  inventory.root = "C";
  EXPECT_THAT(error_of(inventory), HasSubstr("the root is to be C"));
  inventory.switches.clear();
  EXPECT_THAT(error_of(inventory), HasSubstr("no switch is known yet"));
}

TEST(Fabric, APortHasOneLink) {
  Inventory inventory = two_level_tree();
  inventory.switches.push_back(leaf_switch("C", 4, 0x0A00000D));
  inventory.links.push_back({{"C", "up"}, {"root", "p1"}});
  EXPECT_THAT(error_of(inventory), HasSubstr("port root.p1 has two links; allowed: one"));
}

TEST(Fabric, AWorkerOnAnUnknownSwitchIsRefused) {
  Inventory inventory = two_level_tree();
  inventory.workers.push_back({"w9", "C", "p0", std::nullopt});
  EXPECT_THAT(error_of(inventory), HasSubstr("there is no switch 'C'"));
}

}  // namespace
}  // namespace tributary::manager
