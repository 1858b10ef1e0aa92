#include "tools/loadgen/traffic/l2_traffic.h"

#include <gtest/gtest.h>

#include "tests/loadgen/played_job.h"

namespace tributary::loadgen {
namespace {

constexpr std::uint32_t kStations = 10;
constexpr std::size_t kPorts = 3;

wire::EthernetView view(const std::vector<std::byte>& frame) {
  return std::get<wire::EthernetView>(wire::parse_ethernet(frame));
}
// Where the station with this address is.
std::size_t port_of(const wire::MacAddress& mac) {
  return std::size_t{mac[5]} % kPorts;
}

TEST(L2Traffic, FramesGoFromOnePortToAnotherAndAreKnownAgain) {
  L2Traffic traffic(kStations, kPorts, 128, 1);
  FrameList sink;
  for (int i = 0; i < 300; ++i) traffic.send(static_cast<std::size_t>(i) % kPorts, sink);
  ASSERT_EQ(sink.frames.size(), 300u);
  for (std::size_t i = 0; i < sink.frames.size(); ++i) {
    const wire::EthernetView eth = view(sink.frames[i]);
    EXPECT_EQ(sink.frames[i].size(), 128u);
    EXPECT_EQ(port_of(eth.source), i % kPorts);
    EXPECT_NE(port_of(eth.destination), i % kPorts);
    EXPECT_LT(eth.destination[5], kStations);
    traffic.on_frame(port_of(eth.destination), eth);
  }
  EXPECT_EQ(traffic.counts().sent, 300u);
  EXPECT_EQ(traffic.counts().received, 300u);
  const wire::EthernetView first = view(sink.frames[0]);
  traffic.on_frame(port_of(first.source), first);
  EXPECT_EQ(traffic.counts().elsewhere, 1u);
  EXPECT_EQ(traffic.counts().damaged, 0u);
}

TEST(L2Traffic, EveryByteIsChecked) {
  L2Traffic traffic(kStations, kPorts, 64, 1);
  FrameList sink;
  traffic.send(0, sink);
  const auto good = sink.frames[0];
  std::uint64_t damaged = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i == 12 || i == 13) continue;  // the type: it would not come here
    auto frame = good;
    frame[i] ^= std::byte{1};
    traffic.on_frame(port_of(view(good).destination), view(frame));
    EXPECT_EQ(traffic.counts().damaged, ++damaged) << "byte " << i;
  }
  auto cut = good;
  cut.pop_back();
  traffic.on_frame(1, view(cut));
  EXPECT_EQ(traffic.counts().damaged, damaged + 1);
}

TEST(L2Traffic, AnnouncementsAreBroadcastAndNotCounted) {
  L2Traffic traffic(kStations, kPorts, 64, 1);
  FrameList sink;
  traffic.announce(4, sink);
  const wire::EthernetView eth = view(sink.frames.at(0));
  EXPECT_EQ(eth.source, L2Traffic::mac(4));
  EXPECT_TRUE(wire::is_multicast(eth.destination));
  traffic.on_frame(0, eth);
  EXPECT_EQ(traffic.counts().sent + traffic.counts().received + traffic.counts().damaged, 0u);
}

}  // namespace
}  // namespace tributary::loadgen
