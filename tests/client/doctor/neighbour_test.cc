#include "tools/client/doctor/neighbour.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using ::testing::HasSubstr;

RouteFacts route(std::uint32_t gateway) {
  RouteFacts facts;
  facts.interface = "eth0";
  facts.gateway = gateway;
  return facts;
}

constexpr std::uint32_t kGateway = 0x0A000001;

TEST(Neighbour, AGatewayWithoutAnAnswerIsTheCause) {
  const Finding finding = judge_silence(route(kGateway), ArpAnswer::none, "udp://10.9.0.1");
  EXPECT_EQ(finding.level, Finding::Level::error);
  EXPECT_EQ(finding.subject, "gateway 10.0.0.1");
  EXPECT_THAT(finding.state, HasSubstr("does not answer ARP on eth0"));
  EXPECT_THAT(judge_silence(route(kGateway), ArpAnswer::came, "udp://10.9.0.1").state,
              HasSubstr("gateway 10.0.0.1 answers ARP"));
}

TEST(Neighbour, ASwitchWithoutAnAnswerIsNotThere) {
  const Finding finding = judge_silence(route(0), ArpAnswer::none, "udp://10.9.0.1");
  EXPECT_EQ(finding.subject, "switch udp://10.9.0.1");
  EXPECT_THAT(finding.state, HasSubstr("no host answers ARP for it on eth0"));
}

TEST(Neighbour, ASwitchThatAnswersArpAloneDropsTheRest) {
  const Finding finding = judge_silence(route(0), ArpAnswer::came, "udp://10.9.0.1");
  EXPECT_THAT(finding.state, HasSubstr("answers ARP, but no packets of a job"));
  EXPECT_THAT(finding.remedy, HasSubstr("tributary show acl"));
}

TEST(Neighbour, WhereTheKernelSaysNothingTheUsualCausesAre) {
  const Finding finding = judge_silence(route(0), ArpAnswer::unknown, "udp://10.9.0.1");
  EXPECT_EQ(finding.state, "does not answer");
  EXPECT_THAT(finding.remedy, HasSubstr("firewall"));
}

}  // namespace
}  // namespace tributary::client
