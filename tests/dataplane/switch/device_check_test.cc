#include "dataplane/switch/device_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

using testing::HasSubstr;

class DeviceCheckTest : public testing::Test {
 protected:
  DeviceCheckTest() {
    ports.push_back(std::make_unique<Port>(config::PortConfig{"a", "net_null50", 1500}));
    ports.push_back(Port::closed({"b", "net_null51", 1500}));
    ports.push_back(nullptr);
    next.ports = {ports[0]->config(), ports[1]->config(), {"c", "net_null52", 1500}};
  }
  using Change = config::PortChange;

  // `place` is the only one of its kind.
  std::string refusal(std::vector<std::uint16_t> Change::*kind, std::uint16_t place,
                      std::size_t data_bytes = 4096) {
    Change change;
    (change.*kind).push_back(place);
    try {
      DeviceCheck(ports, data_bytes, false).check(next, change);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  RingSwitch dpdk{test_config(1)};
  std::vector<std::unique_ptr<Port>> ports;
  config::SwitchConfig next;
};

TEST_F(DeviceCheckTest, APortThatComesNeedsADeviceOfItsOwn) {
  EXPECT_EQ(refusal(&Change::added, 2), "");
  next.ports[2].devargs = "net_null50,size=100";
  EXPECT_THAT(refusal(&Change::added, 2), HasSubstr("port c (net_null50,size=100): port a has a "
                                                    "device of that name"));
  next.ports[2].devargs = "net_null51";
  EXPECT_EQ(refusal(&Change::added, 2), "") << "a closed port has no device";
}

TEST_F(DeviceCheckTest, APortIsNotInItsOwnWay) {
  next.ports[0].devargs = "net_null50,size=100";
  EXPECT_EQ(refusal(&Change::reopened, 0), "");
  EXPECT_THAT(refusal(&Change::exchanged, 0), HasSubstr("port a has a device of that name"));
}

TEST_F(DeviceCheckTest, WhatOnlyARestartBringsIsSaid) {
  next.ports[2].devargs = "0000:01:00.0";
  EXPECT_THAT(refusal(&Change::added, 2), HasSubstr("DPDK was started for no network card"));
  next.ports[2] = {"c", "net_null52", 9000};
  EXPECT_THAT(refusal(&Change::added, 2), HasSubstr("they have 4096 since the start"));
  EXPECT_EQ(refusal(&Change::added, 2, 16384), "");
}

TEST_F(DeviceCheckTest, AnInterfaceThatIsNotThereIsNamedUnlessThePortNeedNotBe) {
  next.ports[2].devargs = "net_af_packet0,iface=not-there";
  EXPECT_THAT(refusal(&Change::added, 2), HasSubstr("there is no interface 'not-there' here"));
  next.ports[2].required = false;
  EXPECT_EQ(refusal(&Change::added, 2), "");
}

}  // namespace
}  // namespace tributary::dataplane
