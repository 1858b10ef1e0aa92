#include "dataplane/devargs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

using testing::HasSubstr;

config::PortConfig port(const std::string& devargs, std::uint32_t mtu = 1500) {
  return {"p", devargs, mtu};
}

TEST(Devargs, SplitsDeviceDriverAndArguments) {
  const Devargs args = parse_devargs("net_memif12,id=3,socket=/run/a,b=,flag");
  EXPECT_EQ(args.device, "net_memif12");
  EXPECT_EQ(args.driver, "net_memif");
  EXPECT_FALSE(args.pci());
  EXPECT_EQ(args.get("socket"), "/run/a");
  EXPECT_EQ(args.get("b"), "");
  EXPECT_EQ(args.get("flag"), "");
  EXPECT_EQ(args.get("absent"), std::nullopt);
  EXPECT_EQ(args.number("id", 9), 3u);
  EXPECT_EQ(args.number("socket", 9), 9u);
}

// As for DPDK: else what is checked and guarded for a driver would not be for a device of another
// name.
TEST(Devargs, ANameBeginsWithItsDriver) {
  EXPECT_EQ(parse_devargs("net_memif_left,id=0").driver, "net_memif");
  EXPECT_EQ(parse_devargs("net_memif0x,id=0").driver, "net_memif");
  EXPECT_EQ(parse_devargs("net_memif:0.1,id=0").driver, "net_memif");
  EXPECT_EQ(parse_devargs("eth_vhost1,iface=/s").driver, "net_vhost");
  EXPECT_EQ(parse_devargs("virtio_user0,path=/s").driver, "net_virtio_user");
  EXPECT_EQ(parse_devargs("net_other12,a=b").driver, "net_other");
  EXPECT_THAT(check_devargs(port("net_memif_left,role=client")), HasSubstr("role=server"));
  EXPECT_THAT(check_devargs(port("eth_af_packet_a")), HasSubstr("iface=INTERFACE"));
}

TEST(Devargs, KnowsPciAddresses) {
  EXPECT_TRUE(parse_devargs("0000:01:00.0").pci());
  EXPECT_TRUE(parse_devargs("01:00.0,some=1").pci());
  EXPECT_FALSE(parse_devargs("net_af_packet0,iface=eth0.5").pci());
}

TEST(Devargs, AfPacketFrameMustHoldTheMtu) {
  EXPECT_EQ(check_devargs(port("net_af_packet0,iface=ve0")), "");
  EXPECT_THAT(check_devargs(port("net_af_packet0,iface=ve0", 9000)), HasSubstr("framesz=16384"));
  EXPECT_EQ(check_devargs(port("net_af_packet0,iface=ve0,framesz=16384,blocksz=65536", 9000)), "");
  EXPECT_THAT(check_devargs(port("net_af_packet0")), HasSubstr("iface=INTERFACE"));
}

TEST(Devargs, AfXdpFramesMustFitAPageWithTheKernelsHeadroom) {
  EXPECT_EQ(check_devargs(port("net_af_xdp0,iface=a", 3000)), "");
  EXPECT_EQ(data_bytes_needed(port("net_af_xdp0,iface=a", 3000)), 3018u + 256u);
  EXPECT_THAT(check_devargs(port("net_af_xdp0,iface=a", 3001)), HasSubstr("lower the mtu to 3000"));
  EXPECT_THAT(check_devargs(port("net_af_xdp0")), HasSubstr("iface="));
}

TEST(Devargs, ATapCarriesNoJumboFrames) {
  EXPECT_EQ(check_devargs(port("net_tap0,iface=a", 1500)), "");
  EXPECT_THAT(check_devargs(port("net_tap0,iface=a", 1501)), HasSubstr("lower the mtu to 1500"));
}

TEST(Devargs, MemifBufferMustHoldTheMtuAndTheSwitchServes) {
  EXPECT_EQ(check_devargs(port("net_memif0,id=0,socket=/s,role=server")), "");
  EXPECT_THAT(check_devargs(port("net_memif0,role=server", 9000)), HasSubstr("bsize=9216"));
  EXPECT_EQ(check_devargs(port("net_memif0,role=server,bsize=9216", 9000)), "");
  EXPECT_THAT(check_devargs(port("net_memif0,role=client")), HasSubstr("role=server"));
  EXPECT_THAT(check_devargs(port("net_memif0")), HasSubstr("role=server"));
  EXPECT_THAT(check_devargs(port("net_memif0,role=server,zero-copy=yes")), HasSubstr("zero-copy"));
}

TEST(Devargs, AnEndpointIsAMemifClient) {
  EXPECT_EQ(check_devargs(port("net_memif0,role=client"), PortUse::endpoint), "");
  EXPECT_EQ(check_devargs(port("net_memif0"), PortUse::endpoint), "");
  EXPECT_THAT(check_devargs(port("net_memif0,role=server"), PortUse::endpoint),
              HasSubstr("role=client"));
}

TEST(Devargs, BufferHoldsWhatTheDriverWrites) {
  EXPECT_EQ(data_bytes_needed(port("net_null0", 9000)), 9018u);
  EXPECT_EQ(data_bytes_needed(port("0000:01:00.0", 9000)), 9216u) << "whole steps of a card's";
  EXPECT_EQ(data_bytes_needed(port("net_af_packet0,iface=a")), 2048u);
  EXPECT_EQ(data_bytes_needed(port("net_af_packet0,iface=a,framesz=16384", 9000)), 16384u);
}

}  // namespace
}  // namespace tributary::dataplane
