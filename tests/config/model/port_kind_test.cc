#include "config/model/port_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/model/devargs.h"

namespace tributary::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string wrong(std::string_view devargs) {
  return wrong_key(parse_devargs(devargs));
}

// One row a driver, and no word that would take another's devices.
TEST(PortKinds, EachDriverHasOneRow) {
  std::set<std::string_view> drivers;
  for (const PortKind& kind : port_kinds()) {
    EXPECT_TRUE(drivers.insert(kind.driver).second) << kind.driver;
    EXPECT_EQ(kind.card, kind.driver.empty());
    for (const std::string_view word : kind.words) {
      if (!word.empty()) {
        EXPECT_EQ(&kind_of_device(word), &kind) << word;
      }
    }
  }
}

TEST(PortKinds, DevicesThatBindToInterfacesNameThem) {
  EXPECT_EQ(parse_devargs("net_af_packet0,iface=ve0").interface(), "ve0");
  EXPECT_EQ(parse_devargs("net_af_xdp0,iface=ve0").interface(), "ve0");
  EXPECT_EQ(parse_devargs("net_pcap0,iface=ve0").interface(), "ve0");
  EXPECT_EQ(parse_devargs("net_pcap0,rx_iface_in=ve0,tx_iface=ve0").interface(), "ve0");
  EXPECT_EQ(parse_devargs("net_pcap0,rx_pcap=a,tx_pcap=b").interface(), "");
  EXPECT_EQ(parse_devargs("net_tap0,iface=t0").interface(), "t0");
  EXPECT_EQ(parse_devargs("net_vhost0,iface=/run/v").interface(), "") << "a socket";
  EXPECT_EQ(parse_devargs("net_null0").interface(), "");
}

// DPDK would refuse them at the start, or take no notice; a file with them is not good.
TEST(PortKinds, ArgumentsOfKnownDriversAreChecked) {
  EXPECT_EQ(wrong("net_memif0,id=0,socket=/s,role=server,rsize=10,bsize=9728,secret=a"), "");
  EXPECT_THAT(wrong("net_memif0,sokcet=/s,role=server"),
              AllOf(HasSubstr("no argument 'sokcet'"), HasSubstr("did you mean 'socket'?")));
  EXPECT_THAT(wrong("net_af_packet0,iface=a,framesize=2048"), HasSubstr("did you mean 'framesz'?"));
  EXPECT_THAT(wrong("net_null0,quite-else=1"), HasSubstr("allowed: size, copy, no-rx"));
  EXPECT_EQ(wrong("0000:01:00.0,whatever=1"), "") << "cards have drivers of their own";
  EXPECT_EQ(wrong("net_other0,whatever=1"), "");
}

TEST(PortKinds, UnknownDriversAreDoubtedWithTheNearestName) {
  EXPECT_THAT(unknown_driver(parse_devargs("net_af_paket1,iface=a")),
              AllOf(HasSubstr("'net_af_paket'"), HasSubstr("did you mean 'net_af_packet'?")));
  EXPECT_THAT(unknown_driver(parse_devargs("net_quite_else0")), HasSubstr("'net_quite_else'"));
  EXPECT_EQ(unknown_driver(parse_devargs("eth_vhost0,iface=/v")), "");
  EXPECT_EQ(unknown_driver(parse_devargs("0000:01:00.0")), "");
}

}  // namespace
}  // namespace tributary::config
