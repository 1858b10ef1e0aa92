#include "config/model/devargs.h"

#include <gtest/gtest.h>

#include <optional>

namespace tributary::config {
namespace {

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
}

TEST(Devargs, KnowsPciAddresses) {
  EXPECT_TRUE(parse_devargs("0000:01:00.0").pci());
  EXPECT_TRUE(parse_devargs("01:00.0,some=1").pci());
  EXPECT_FALSE(parse_devargs("net_af_packet0,iface=eth0.5").pci());
}

}  // namespace
}  // namespace tributary::config
