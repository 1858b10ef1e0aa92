#include "config/plan/device_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> claims(std::string_view devargs) {
  std::vector<std::string> out;
  for (const DeviceClaim& claim : device_claims(parse_devargs(devargs))) out.push_back(claim.what);
  return out;
}

TEST(DeviceClaimsTimed, AreWhatTwoDevicesCannotHave) {
  EXPECT_THAT(claims("net_memif0,role=server,socket=/run//a,id=3"),
              ElementsAre("socket '/run/a' with id 3"));
  EXPECT_THAT(claims("net_memif0,role=server"), ElementsAre("socket '/run/memif.sock' with id 0"));
  EXPECT_THAT(claims("net_vhost0,iface=/run/./v"), ElementsAre("socket '/run/v'"));
  EXPECT_THAT(claims("net_af_packet0,iface=ve0"), ElementsAre("interface 've0'"));
  EXPECT_THAT(claims("net_pcap0,iface=ve0"), ElementsAre("interface 've0'"));
  EXPECT_THAT(claims("net_tap0,iface=t0"), ElementsAre("interface 't0'"));
  EXPECT_THAT(claims("net_af_xdp0,iface=e0,start_queue=2,queue_count=2"),
              ElementsAre("queue 2 of interface 'e0'", "queue 3 of interface 'e0'"));
  EXPECT_EQ(claims("net_af_xdp0,iface=e0,queue_count=4000000000").size(), 1024u);
}

TEST(DeviceClaimsTimed, AreNoneWhereManyCanHaveIt) {
  EXPECT_THAT(claims("net_null0"), IsEmpty());
  EXPECT_THAT(claims("0000:01:00.0,iface=x"), IsEmpty());
  EXPECT_THAT(claims("net_virtio_user0,path=/dev/vhost-net"), IsEmpty());
  EXPECT_THAT(claims("net_pcap0,rx_pcap=/a"), IsEmpty());
  EXPECT_THAT(claims("net_tap0,iface=t%d"), IsEmpty());
  EXPECT_THAT(claims("net_memif0,role=client,socket=/run/a,id=3"), IsEmpty()) << "the server's";
}

TEST(DeviceClaimsTimed, ContendedIsWhatCannotBeOpenedTwice) {
  const auto both = [](std::string_view a, std::string_view b) {
    return contended(parse_devargs(a), parse_devargs(b)).value_or("-");
  };
  EXPECT_EQ(both("net_vhost0,iface=/v", "net_vhost1,iface=/v"), "socket '/v'");
  EXPECT_EQ(both("net_vhost0,iface=/v", "net_vhost1,iface=/w"), "-");
  EXPECT_EQ(both("net_memif0,role=server,id=1", "net_memif1,role=server,id=2"), "-");
  EXPECT_EQ(both("net_memif0,role=server,id=1", "net_memif1,role=server,id=1"),
            "socket '/run/memif.sock' with id 1");
  // The new device is opened before the one that it replaces is closed.
  EXPECT_EQ(both("net_af_packet0,iface=e", "net_af_packet1,iface=e,framesz=4096"), "-");
}

TEST(DeviceClaimsTimed, LongPathsDifferToTheEnd) {
  const std::string path = "net_vhost0,iface=/" + std::string(80, 'd') + "/v";
  EXPECT_EQ(contended(parse_devargs(path + "0"), parse_devargs(path + "1")), std::nullopt);
  EXPECT_NE(contended(parse_devargs(path + "0"), parse_devargs(path + "0")), std::nullopt);
}

TEST(DeviceClaimsTimed, KnowTheSocketFileThatADeviceLeavesWhenItIsKilled) {
  const auto socket = [](std::string_view devargs) {
    return served_socket(parse_devargs(devargs)).value_or("-");
  };
  EXPECT_EQ(socket("net_memif0,role=server,socket=/m,socket-abstract=no"), "/m");
  EXPECT_EQ(socket("net_memif0,role=server,socket-abstract=no"), "/run/memif.sock");
  EXPECT_EQ(socket("net_memif0,role=server,socket=/m"), "-") << "abstract: no file";
  EXPECT_EQ(socket("net_memif0,role=client,socket=/m,socket-abstract=no"), "-");
  EXPECT_EQ(socket("net_vhost0,iface=/v"), "/v");
  EXPECT_EQ(socket("net_vhost0,iface=/v,client=0"), "/v");
  EXPECT_EQ(socket("net_vhost0,iface=/v,client=1"), "-") << "the peer's";
  EXPECT_EQ(socket("net_virtio_user0,path=/v"), "-");
  EXPECT_EQ(socket("net_af_packet0,iface=/v"), "-");
}

}  // namespace
}  // namespace tributary::config
