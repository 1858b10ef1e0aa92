#include "tools/client/doctor/packet_size.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using ::testing::HasSubstr;
using End = SizeFacts::End;

constexpr std::uint32_t kChunk = 8192;
constexpr std::uint32_t kAll = 1u << 20;

// A way that loses packets of more IP bytes than these.
SizeFacts over(std::uint32_t mtu_there, std::uint32_t mtu_back) {
  return try_size(
      [&](std::uint32_t bytes, std::uint32_t wanted) {
        ProbeAnswer answer;
        answer.answered = packet_bytes(bytes) <= mtu_there && packet_bytes(wanted) <= mtu_back;
        answer.bytes = wanted;
        return answer;
      },
      kChunk);
}

// A way on which every probe ends with this answer.
SizeFacts always(ProbeAnswer answer) {
  return try_size([&](std::uint32_t, std::uint32_t) { return answer; }, kChunk);
}

TEST(PacketSize, AWayThatTakesTheJobsPacketsIsFine) {
  const SizeFacts facts = over(packet_bytes(kChunk), packet_bytes(kChunk));
  EXPECT_EQ(facts.end, End::whole);
  EXPECT_EQ(facts.packet, 8338u);
  EXPECT_EQ(judge(facts, 1, 9000).level, Finding::Level::ok);
}

TEST(PacketSize, TheWayThereNamesTheLargestThatPasses) {
  const SizeFacts facts = over(1000, kAll);
  EXPECT_EQ(facts.end, End::lost_there);
  EXPECT_EQ(facts.largest, 1000u);
  const Finding finding = judge(facts, 1, 9000);
  EXPECT_EQ(finding.level, Finding::Level::error);
  EXPECT_EQ(finding.subject, "way to the switch");
  EXPECT_THAT(finding.state, HasSubstr("8338 bytes"));
  EXPECT_THAT(finding.state, HasSubstr("up to 1000 do"));
  EXPECT_THAT(finding.remedy, HasSubstr("an MTU of 8338"));
  EXPECT_THAT(finding.remedy, HasSubstr("at most 832"));
}

TEST(PacketSize, TheWayBackIsToldApart) {
  const SizeFacts facts = over(kAll, 1500);
  EXPECT_EQ(facts.end, End::lost_back);
  EXPECT_EQ(facts.largest, 1500u);
  EXPECT_EQ(judge(facts, 1, 9000).subject, "way back from the switch");
}

TEST(PacketSize, AnEarlierSwitchBringsNothingBack) {
  ProbeAnswer answer;
  answer.answered = true;
  const SizeFacts facts = always(answer);
  EXPECT_EQ(facts.end, End::unknown);
  EXPECT_EQ(judge(facts, 1, 9000).level, Finding::Level::ok);
}

TEST(PacketSize, AnMtuThatARouterTellsIsNamed) {
  ProbeAnswer answer;
  answer.too_long = true;
  const SizeFacts facts = always(answer);
  EXPECT_EQ(facts.end, End::too_long);
  EXPECT_THAT(judge(facts, 1, 1400).state, HasSubstr("longer than its MTU, 1400"));
}

}  // namespace
}  // namespace tributary::client
