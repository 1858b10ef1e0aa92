// Where a rank joins (T20).
#include "manager/topology/worker_address.h"

#include <gtest/gtest.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

TEST(WorkerAddress, ARankJoinsAtTheSwitchThatServesIt) {
  const auto topology = assemble(two_level_tree());
  EXPECT_EQ(address_of(topology, "w0"), "udp://10.0.0.11");
  EXPECT_EQ(address_of(topology, "absent"), "");
  auto relayed = topology;
  relayed.switches[1].aggregate = false;
  relayed.switches[0].config.udp_base_port = 5000;
  EXPECT_EQ(address_of(relayed, "w0"), "udp://10.0.0.10:5000");
  relayed.switches[1].config.ports[0].devargs =
      "net_memif0,id=3,socket=/run/m,socket-abstract=no,role=server";
  EXPECT_EQ(address_of(relayed, "w0"), "memif:///run/m?id=3&switch=10.0.0.10&port=5000");
}

}  // namespace
}  // namespace tributary::manager
