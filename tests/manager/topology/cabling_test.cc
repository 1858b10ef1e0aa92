// Cables that lead elsewhere than the topology says (T20).
#include "manager/topology/cabling.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Cabling : public testing::Test {
 protected:
  std::vector<std::string> wrong(const std::string& node, const std::vector<Neighbour>& heard) {
    return wrong_cables(topology, node, heard);
  }
  config::Topology topology = assemble(two_level_tree());
};

TEST_F(Cabling, T20_LinksOfTheTopologyAreRightFromBothEnds) {
  EXPECT_THAT(wrong("A", {{"up", "root", "p0"}}), IsEmpty());
  EXPECT_THAT(wrong("root", {{"p0", "A", "up"}, {"p1", "B", "up"}}), IsEmpty());
}

TEST_F(Cabling, T20_SwitchesThatAreExchangedAreNamedAtEachPort) {
  EXPECT_THAT(wrong("root", {{"p1", "A", "up"}, {"p0", "B", "up"}}),
              ElementsAre("port p0 leads to B.up, and the topology says A.up",
                          "port p1 leads to A.up, and the topology says B.up"));
}

TEST_F(Cabling, T20_AnotherPortOfTheRightSwitchIsWrong) {
  EXPECT_THAT(wrong("A", {{"up", "root", "p1"}}),
              ElementsAre("port up leads to root.p1, and the topology says root.p0"));
}

TEST_F(Cabling, T20_ASwitchWhereAWorkerOrNothingIsExpected) {
  EXPECT_THAT(wrong("A", {{"p0", "B", "spare"}, {"spare", "B", "p3"}}),
              ElementsAre("port p0 leads to B.spare, and the topology says worker w0",
                          "port spare leads to B.p3, and the topology says nothing"));
}

TEST_F(Cabling, T20_WhoIsNoSwitchOfTheTopologyIsNotJudged) {
  EXPECT_THAT(wrong("A", {{"up", "tor-17", "Ethernet1"}, {"p0", "host7", "eth0"}}), IsEmpty());
  EXPECT_THAT(wrong("nobody", {{"up", "B", "up"}}), IsEmpty());
}

TEST_F(Cabling, O4_AWayThatIsDeclaredAndNotInUseIsRight) {
  auto& leaf = *std::find_if(topology.switches.begin(), topology.switches.end(),
                             [](const auto& sw) { return sw.config.name == "A"; });
  leaf.other_uplinks.push_back({.parent = "B", .parent_port = "spare", .uplink = "spare"});
  EXPECT_THAT(wrong("A", {{"spare", "B", "spare"}}), IsEmpty());
  EXPECT_THAT(wrong("B", {{"spare", "A", "spare"}}), IsEmpty());
  EXPECT_THAT(wrong("B", {{"spare", "A", "p3"}}),
              ElementsAre("port spare leads to A.p3, and the topology says A.spare"));
}

}  // namespace
}  // namespace tributary::manager
