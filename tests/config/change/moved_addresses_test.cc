#include "config/change/moved_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SwitchConfig with_children(std::vector<ChildConfig> children) {
  SwitchConfig config;
  for (const char* const name : {"a", "b", "c"}) config.ports.emplace_back().name = name;
  config.jobs.resize(1);
  config.jobs[0].children = std::move(children);
  return config;
}
ChildConfig child(bool is_switch, std::uint32_t id, const std::string& port) {
  return {is_switch, id, 0, port, {id}};
}

TEST(MovedAddresses, APortThatASwitchHasLeftIsNamed) {
  const SwitchConfig before = with_children({child(true, 7, "a"), child(true, 8, "b")});
  EXPECT_THAT(ports_with_moved_addresses(before, before), IsEmpty());
  EXPECT_THAT(
      ports_with_moved_addresses(before, with_children({child(true, 7, "c"), child(true, 8, "b")})),
      ElementsAre(0));
  EXPECT_THAT(
      ports_with_moved_addresses(before, with_children({child(true, 7, "b"), child(true, 8, "a")})),
      ElementsAre(0, 1));
}

TEST(MovedAddresses, WorkersAndSwitchesWithoutAJobHaveLeftNoPort) {
  const SwitchConfig before = with_children({child(false, 7, "a"), child(true, 8, "b")});
  EXPECT_THAT(ports_with_moved_addresses(before, with_children({child(false, 7, "c")})), IsEmpty());
}

TEST(MovedAddresses, WhereAWayOpensOrClosesAllPortsMayHaveTaughtWrongAddresses) {
  const SwitchConfig before = with_children({child(true, 7, "a")});
  SwitchConfig after = before;
  after.ports[1].vlan.mode = VlanMode::none;
  EXPECT_THAT(ports_with_moved_addresses(before, after), ElementsAre(0, 1, 2));
  EXPECT_THAT(ports_with_moved_addresses(after, before), ElementsAre(0, 1, 2));
  EXPECT_THAT(ports_with_moved_addresses(after, after), IsEmpty());
}

}  // namespace
}  // namespace tributary::config
