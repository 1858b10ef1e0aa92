#include "dataplane/switch/port_opener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

class PortOpenerTest : public testing::Test {
 protected:
  RingSwitch sw{test_config(2)};
  std::vector<std::string> lines;
  const LinkMonitor::Report report = [this](const std::string& line) { lines.push_back(line); };
  const PortOpener opener{sw.config(), sw.pools(), report};
};

TEST_F(PortOpenerTest, APortThatCannotBeOpenedAgainLeavesItsReason) {
  const auto closed = Port::closed({"p1", "net_nothing7", 1500});
  std::string why;
  EXPECT_EQ(opener.try_open(closed->config(), 1, sw.pools().plan(), *closed, why), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("port p1 (net_nothing7): "));
}

TEST_F(PortOpenerTest, OneThatIsOpenedAgainKeepsWhatWasLearnedBehindIt) {
  const auto closed = Port::closed({"p1", "net_null54", 1500});
  closed->stay_down("its interface is gone");
  std::string why;
  const auto port = opener.try_open(closed->config(), 1, sw.pools().plan(), *closed, why);
  ASSERT_NE(port, nullptr) << why;
  EXPECT_TRUE(port->link().up());
  EXPECT_EQ(port->link().losses(), closed->link().losses());
}

TEST_F(PortOpenerTest, OpensThosePortsThatComeOrGetAnotherDevice) {
  config::SwitchConfig next = sw.config();
  next.ports[1].devargs = "net_null55";
  config::NumaPlan plan;
  config::PortChange change;
  change.exchanged = {1};
  const OpenPorts opened = opener.open(next, change, plan);
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].first, 1);
  EXPECT_EQ(opened[0].second->config().devargs, "net_null55");
  EXPECT_EQ(plan.of_queue.size(), next.ports.size());
  EXPECT_TRUE(lines.empty()) << lines[0];
}

}  // namespace
}  // namespace tributary::dataplane
