// The tree that `tributary topology` prints.
#include "tools/client/manager/topology_text.h"

#include <gtest/gtest.h>

namespace tributary::client {
namespace {

Json switch_row(const char* name, int id, const char* parent, bool connected) {
  return {{"name", name},     {"id", id},     {"parent", parent},     {"connected", connected},
          {"slots_used", 64}, {"slots", 128}, {"bytes_used", "1000"}, {"bytes", "2000"},
          {"revision", "7"},  {"problem", ""}};
}

TEST(TopologyText, IsATree) {
  Json problem = switch_row("B", 3, "root", true);
  problem["problem"] = "no room\x1b";
  problem["wrong_cables"] = Json::array({"port up leads to A.p0, and the topology says root.p1"});
  const Json topology = {{"switches", Json::array({switch_row("root", 1, "", true),
                                                   switch_row("A", 2, "root", false), problem})},
                         {"workers", Json::array({Json{{"name", "w0"},
                                                       {"attached_to", "A"},
                                                       {"port", "p0"},
                                                       {"drained", true},
                                                       {"jobs", Json::array({"x", "y"})}}})}};
  EXPECT_EQ(topology_text(topology),
            "root  id 1, connected, slots 64/128, bytes 1000/2000, revision 7\n"
            "|- A  id 2, no agent, slots 64/128, bytes 1000/2000\n"
            "|  `- w0  at p0, drained, runs x y\n"
            "`- B  id 3, connected, slots 64/128, bytes 1000/2000, revision 7: no room?; port up "
            "leads to A.p0, and the topology says root.p1\n");
}

TEST(TopologyText, HasTheWayUpAndTheMoveToAnother) {
  Json moving = switch_row("R", 2, "", true);
  moving["uplink"] = "b";
  moving["other_uplinks"] = Json::array({"a"});
  const Json topology = {{"switches", Json::array({moving})},
                         {"workers", Json::array()},
                         {"move", {{"name", "R"}, {"from", "a"}, {"to", "b"}, {"waits_for", "R"}}}};
  EXPECT_EQ(topology_text(topology),
            "R  id 2, connected, slots 64/128, bytes 1000/2000, up by b, revision 7\n"
            "R moves from a to b, and waits for R\n");
}

}  // namespace
}  // namespace tributary::client
