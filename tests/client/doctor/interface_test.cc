#include "tools/client/doctor/interface.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

const RouteFacts kGood{.interface = "eth0",
                       .error = "",
                       .own_ipv4 = 0x0A4D0001,
                       .up = true,
                       .running = true,
                       .multicast = true,
                       .mtu = 9000,
                       .driver = "veth",
                       .tx_checksum_off = true};

auto finding(Finding::Level level, const std::string& state, const std::string& remedy) {
  return AllOf(Field(&Finding::level, level), Field(&Finding::state, HasSubstr(state)),
               Field(&Finding::remedy, HasSubstr(remedy)));
}

TEST(Interface, AGoodOneHasARouteAndAnMtu) {
  using enum Finding::Level;
  EXPECT_THAT(judge(kGood), ElementsAre(finding(ok, "through eth0, from 10.77.0.1", "")));
  EXPECT_THAT(judge_mtu(kGood, 8192, false), finding(ok, "MTU 9000: chunks of up to 8832", ""));
}

TEST(Interface, AGatewayIsNamed) {
  RouteFacts route = kGood;
  route.gateway = 0x0A4D00FD;
  EXPECT_THAT(judge(route),
              ElementsAre(finding(Finding::Level::ok, "by way of gateway 10.77.0.253", "")));
}

// The same sum as the library's: IPv4, UDP, header and room for extensions (rule 17).
TEST(Interface, TheLargestChunkLeavesRoomForHeaders) {
  EXPECT_EQ(largest_chunk(1500), 1344u);
  EXPECT_EQ(largest_chunk(1500 + 10), 1344u + 0u);
  EXPECT_EQ(largest_chunk(100), 0u);
}

TEST(Interface, AnMtuThatIsTooSmallIsNamedWithTheOneThatIsNeeded) {
  RouteFacts route = kGood;
  route.mtu = 1500;
  EXPECT_THAT(judge_mtu(route, 8192, false),
              finding(Finding::Level::error, "the job's have 8192", "ip link set eth0 mtu 8348"));
  EXPECT_THAT(judge_mtu(route, 8192, true), finding(Finding::Level::ok, "go in fragments", ""));
}

TEST(Interface, NoRouteIsTheOnlyFinding) {
  RouteFacts route;
  route.error = "Network is unreachable";
  EXPECT_THAT(judge(route), ElementsAre(finding(Finding::Level::error, "Network is unreachable",
                                                "ip route add")));
}

TEST(Interface, ADownOneAndOneWithoutCarrierAreDifferent) {
  RouteFacts route = kGood;
  route.running = false;
  EXPECT_THAT(judge(route), IsSupersetOf({finding(Finding::Level::error, "no carrier", "cable")}));
  route.up = false;
  EXPECT_THAT(judge(route),
              IsSupersetOf({finding(Finding::Level::error, "is down", "ip link set eth0 up")}));
}

TEST(Interface, ChecksumsLeftToTheDeviceAreAnErrorOnAVethOnly) {
  RouteFacts route = kGood;
  route.tx_checksum_off = false;
  EXPECT_THAT(judge(route),
              IsSupersetOf({finding(Finding::Level::error, "transmit checksum offload",
                                    "ethtool -K eth0 tx off")}));
  route.driver = "mlx5_core";
  EXPECT_FALSE(has_errors(judge(route)));
}

TEST(Interface, NoMulticastIsAWarning) {
  RouteFacts route = kGood;
  route.multicast = false;
  EXPECT_THAT(judge(route),
              IsSupersetOf({finding(Finding::Level::warning, "no multicast", "multicast on")}));
}

TEST(Interface, LoopbackIsFoundByTheKernel) {
  const RouteFacts route = look_at_route(0x7F000001, 5000);
  EXPECT_EQ(route.interface, "lo") << route.error;
  EXPECT_EQ(route.own_ipv4, 0x7F000001u);
}

}  // namespace
}  // namespace tributary::client
