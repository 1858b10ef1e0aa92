// A switch that is not the one of the topology is refused, with the difference (T20).
#include "manager/service/registration.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

struct Registered : testing::Test {
  config::Topology topology = assemble(two_level_tree());
  SwitchRegistration root{
      .name = "root", .address = "10.0.0.10", .ports = {"p0", "p1", "p2", "p3", "spare", "up"}};
};

TEST_F(Registered, AsTheTopologyHasIt) {
  EXPECT_EQ(mismatch(topology, root), "");
}
TEST_F(Registered, UnderAnUnknownName) {
  root.name = "toor";
  EXPECT_THAT(mismatch(topology, root), HasSubstr("no switch toor; it has: "));
}
TEST_F(Registered, WithAnotherAddress) {
  root.address = "10.0.0.99";
  EXPECT_THAT(mismatch(topology, root), HasSubstr("10.0.0.99, and the topology says 10.0.0.10"));
}
TEST_F(Registered, WithAnotherId) {
  root.id = 77;
  EXPECT_THAT(mismatch(topology, root), HasSubstr("has id 77, and the topology says"));
}
TEST_F(Registered, WithoutAPort) {
  root.ports = {"p9"};
  EXPECT_THAT(mismatch(topology, root), HasSubstr("has no port "));
  EXPECT_THAT(mismatch(topology, root), HasSubstr("it has: p9"));
}

}  // namespace
}  // namespace tributary::manager
