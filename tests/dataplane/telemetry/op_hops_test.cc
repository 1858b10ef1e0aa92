// The table of hops by op and sender: what it takes, and what makes room (C6).
#include "dataplane/telemetry/op_hops.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/wire/header.h"

namespace tributary::dataplane {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kJob = 3;

wire::Header data_of(std::uint32_t op, std::uint16_t child,
                     wire::PacketType type = wire::PacketType::aggregate) {
  wire::Header h;
  h.type = type;
  h.job = kJob;
  h.op = op;
  h.child = child;
  h.dtype = wire::DType::int32;
  h.element_count = 1;
  return h;
}

Bytes packet_of(const wire::Header& header) {
  Bytes bytes(wire::kHeaderBytes + 4);
  EXPECT_EQ(wire::serialize(header, {}, bytes), wire::kHeaderBytes);
  return bytes;
}

// A stack of node and latency, the newest first as on the wire.
class Metadata {
 public:
  explicit Metadata(std::size_t hops) : stack_(hops * 8) {
    for (std::size_t i = 0; i < hops; ++i) {
      telemetry::Hop hop;
      hop.node = static_cast<std::uint32_t>(hops - i);
      hop.latency_ns = static_cast<std::uint32_t>(1000 * (hops - i));
      telemetry::write_hop(hop, kAsked, std::span(stack_).subspan(i * 8));
    }
    view_.header.bitmap = kAsked;
    view_.header.hop_words = 2;
    view_.stack = stack_;
  }
  [[nodiscard]] const telemetry::IntView& view() const { return view_; }

 private:
  static constexpr std::uint16_t kAsked = telemetry::kNodeId | telemetry::kHopLatency;
  Bytes stack_;
  telemetry::IntView view_;
};

TEST(OpHops, C6_TheSendersHopIsTheFirstAndTheLatestPacketCounts) {
  OpHops hops;
  EXPECT_TRUE(hops.of(kJob, 5).empty());
  hops.note(Metadata(1).view(), packet_of(data_of(5, 2)));
  hops.note(Metadata(3).view(), packet_of(data_of(5, 2)));
  hops.note(Metadata(1).view(), packet_of(data_of(5, 0, wire::PacketType::result)));
  hops.note(Metadata(1).view(), packet_of(data_of(6, 2)));
  const auto known = hops.of(kJob, 5);
  ASSERT_EQ(known.size(), 2u);
  const auto& sum = known[0].child == 2 ? known[0] : known[1];
  const auto& result = known[0].child == 2 ? known[1] : known[0];
  EXPECT_EQ(result.child, OpHops::kParent);
  ASSERT_EQ(sum.path().size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_EQ(sum.path()[i], (OpHops::Hop{i + 1, 1000 * (i + 1)}));
  EXPECT_TRUE(hops.of(kJob + 1, 5).empty());
}

TEST(OpHops, C6_OtherPacketsAreLeftOut) {
  OpHops hops;
  wire::Header control = data_of(5, 2, wire::PacketType::probe);
  control.dtype = wire::DType::none;
  control.element_count = 0;
  hops.note(Metadata(1).view(), packet_of(control));
  hops.note(Metadata(0).view(), packet_of(data_of(5, 2)));
  Bytes cut = packet_of(data_of(5, 2));
  cut.resize(wire::kHeaderBytes - 1);
  hops.note(Metadata(1).view(), cut);
  Bytes noise(wire::kHeaderBytes + 4, std::byte{0xFF});
  hops.note(Metadata(1).view(), noise);
  EXPECT_TRUE(hops.of(kJob, 5).empty());
}

TEST(OpHops, C6_MoreHopsThanThereIsRoomForAreCut) {
  OpHops hops;
  hops.note(Metadata(OpHops::kMostHops + 3).view(), packet_of(data_of(5, 2)));
  const auto known = hops.of(kJob, 5);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].path().size(), OpHops::kMostHops);
  EXPECT_EQ(known[0].path().back().node, OpHops::kMostHops);
}

TEST(OpHops, C6_TheTableIsBoundedAndTheLatestOpsAreInIt) {
  OpHops hops;
  constexpr std::uint32_t kOps = 10 * OpHops::kPlaces;
  for (std::uint32_t op = 0; op < kOps; ++op)
    for (const std::uint16_t child : {std::uint16_t{0}, std::uint16_t{1}})
      hops.note(Metadata(1).view(), packet_of(data_of(op, child)));
  for (std::uint32_t op = kOps - 32; op < kOps; ++op) EXPECT_EQ(hops.of(kJob, op).size(), 2u) << op;
  std::size_t known = 0;
  for (std::uint32_t op = 0; op < kOps; ++op) known += hops.of(kJob, op).size();
  EXPECT_LE(known, OpHops::kPlaces);
}

}  // namespace
}  // namespace tributary::dataplane
