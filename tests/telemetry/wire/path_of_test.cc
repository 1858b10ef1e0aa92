#include "telemetry/wire/path_of.h"

#include <gtest/gtest.h>

#include "tests/telemetry/wire/frames.h"

namespace tributary::telemetry {
namespace {

using namespace test;

const Marking kMark;

Hop at(std::uint32_t node) {
  Hop hop;
  hop.node = node;
  hop.latency_ns = node * 10;
  return hop;
}

// A sink's report: its own hop, and a packet that two hops have stamped.
class PathOf : public testing::TestWithParam<bool> {
 protected:
  PathOf() : buffer_(make_frame({.ipv6 = GetParam()})) {
    EXPECT_EQ(insert_int(buffer_.view, kMark, kNodeId | kHopLatency, 8, at(1)), Outcome::done);
    EXPECT_EQ(push_hop(buffer_.view, kMark, at(2)), Outcome::done);
    packet_ = buffer_.now();
    packet_.erase(packet_.begin(), packet_.begin() + 14);
    own_.resize(4);
    write_hop(at(3), kHopLatency, own_);
    report_.bitmap = kHopLatency;
    report_.own = own_;
    report_.inner_type = GetParam() ? InnerType::ipv6 : InnerType::ipv4;
    report_.inner = packet_;
  }

  Buffer buffer_;
  Bytes packet_;
  Bytes own_;
  Report report_;
  ReportedPath path_;
};

TEST_P(PathOf, C7_HopsNewestFirstAndTheFlow) {
  ASSERT_EQ(path_of(report_, 3, kMark, path_), Outcome::done);
  ASSERT_EQ(path_.count, 3u);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(path_.hops[i], at(3 - i));
  EXPECT_TRUE(path_.has_source);
  ASSERT_TRUE(path_.has_flow);
  EXPECT_EQ(path_.flow.source_port, 40000);
  EXPECT_EQ(path_.flow.destination_port, 9000);
  EXPECT_EQ(path_.flow.source[15], GetParam() ? 0x07 : 1);
}

TEST_P(PathOf, PacketMayBeCutShortBehindItsStack) {
  UdpPlace place;
  ASSERT_EQ(find_udp(buffer_.now(), place), Outcome::done);
  const std::size_t end = place.payload() - 14 + kIntFixedBytes + 16;
  report_.inner = std::span(packet_).first(end);
  EXPECT_EQ(path_of(report_, 3, kMark, path_), Outcome::done);
  report_.inner = std::span(packet_).first(end - 1);
  EXPECT_EQ(path_of(report_, 3, kMark, path_), Outcome::truncated);
  EXPECT_EQ(path_.count, 1u);  // the reporter's own stays
}

TEST_P(PathOf, PacketWithoutTelemetryGivesItsFlow) {
  packet_ = make_frame({.ipv6 = GetParam()});
  packet_.erase(packet_.begin(), packet_.begin() + 14);
  report_.inner = packet_;
  EXPECT_EQ(path_of(report_, 3, kMark, path_), Outcome::absent);
  EXPECT_EQ(path_.count, 1u);
  EXPECT_TRUE(path_.has_flow);
}

TEST_P(PathOf, C7_OtherPacketsThanUdpGiveTheirFlowAndOneHop) {
  packet_ = make_frame({.ipv6 = GetParam()});
  packet_.erase(packet_.begin(), packet_.begin() + 14);
  const std::size_t protocol = GetParam() ? 6 : 9;
  for (const auto& [number, port] : {std::pair(6, 40000), std::pair(1, 0), std::pair(132, 40000)}) {
    packet_[protocol] = static_cast<std::byte>(number);
    report_.inner = packet_;
    EXPECT_EQ(path_of(report_, 3, kMark, path_), Outcome::absent);
    EXPECT_EQ(path_.count, 1u);
    EXPECT_TRUE(path_.has_flow && path_.is_single);
    EXPECT_EQ(path_.flow.protocol, number);
    EXPECT_EQ(path_.flow.source_port, port);
  }
  for (; !packet_.empty(); packet_.pop_back()) {
    report_.inner = packet_;
    path_of(report_, 3, kMark, path_);
    EXPECT_EQ(path_.has_flow, packet_.size() >= (GetParam() ? 40u : 20u)) << packet_.size();
  }
}

TEST_P(PathOf, FramesOfOtherProtocolsHaveNoFlow) {
  packet_ = make_frame({.ipv6 = GetParam()});
  report_.inner_type = InnerType::ethernet;
  report_.inner = packet_;
  EXPECT_EQ(path_of(report_, 3, kMark, path_), Outcome::absent);
  EXPECT_TRUE(path_.has_flow);
  packet_[12] = std::byte{0x77};
  EXPECT_EQ(path_of(report_, 3, kMark, path_), Outcome::absent);
  EXPECT_FALSE(path_.has_flow);
  EXPECT_EQ(path_.count, 1u);
}

INSTANTIATE_TEST_SUITE_P(BothVersions, PathOf, testing::Bool());

}  // namespace
}  // namespace tributary::telemetry
