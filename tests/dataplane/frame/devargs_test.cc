#include "dataplane/frame/devargs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

using testing::HasSubstr;

config::PortConfig port(const std::string& devargs, std::uint32_t mtu = 1500) {
  return {"p", devargs, mtu};
}

// What DPDK gives to a driver is checked as that driver's, whatever its name is.
TEST(Devargs, ChecksAreByDriver) {
  EXPECT_THAT(check_devargs(port("net_memif_left,role=client")), HasSubstr("role=server"));
  EXPECT_THAT(check_devargs(port("eth_af_packet_a")), HasSubstr("iface=INTERFACE"));
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

// DPDK would wait for its peer in the middle of a start or a reload, deaf to signals.
TEST(Devargs, VirtioUserDoesNotWaitForItsPeer) {
  EXPECT_EQ(check_devargs(port("net_virtio_user0,path=/v")), "");
  EXPECT_EQ(check_devargs(port("net_virtio_user0,path=/v,server=0")), "");
  EXPECT_THAT(check_devargs(port("virtio_user0,path=/v,server=1")), HasSubstr("net_vhost0"));
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
