#include "tools/impair/first_loss.h"

#include <gtest/gtest.h>

#include "core/net/frame.h"
#include "core/wire/header.h"

namespace tributary::impair {
namespace {

std::vector<std::byte> frame_of(const wire::Header& h) {
  const wire::FrameTemplate around;
  const std::size_t head = wire::frame_header_bytes(around);
  std::vector<std::byte> frame(head + wire::serialized_bytes(0));
  const std::size_t bytes = wire::serialize(h, {}, std::span(frame).subspan(head));
  EXPECT_EQ(wire::write_frame_headers(around, frame, bytes), frame.size());
  return frame;
}

wire::Header header(std::uint32_t seq, std::uint32_t origin = 0,
                    wire::PacketType type = wire::PacketType::contribution, std::uint32_t job = 1) {
  wire::Header h;
  h.type = type;
  h.job = job;
  h.epoch = 3;
  h.seq = seq;
  h.origin = origin;
  return h;
}

TEST(FirstLoss, TakesEachPacketOnce) {
  FirstLoss loss({wire::PacketType::contribution});
  for (std::uint32_t seq = 0; seq < 200; ++seq) {
    for (std::uint32_t origin = 0; origin < 3; ++origin)
      EXPECT_TRUE(loss.takes(frame_of(header(seq, origin)))) << seq << ' ' << origin;
    EXPECT_FALSE(loss.takes(frame_of(header(seq, 1)))) << seq;
  }
  wire::Header again = header(7);
  again.flags = wire::kFlagResend;
  EXPECT_FALSE(loss.takes(frame_of(again)));
  again.epoch = 4;
  EXPECT_TRUE(loss.takes(frame_of(again))) << "of another epoch";
  again.shard = 1;
  EXPECT_TRUE(loss.takes(frame_of(again)));
}

TEST(FirstLoss, ManyThatAreUnderWayDoNotMakeEachOtherForgotten) {
  FirstLoss loss({wire::PacketType::contribution});
  for (std::uint32_t first = 0; first < 40'000; first += 4000) {
    for (std::uint32_t seq = first; seq < first + 4000; ++seq) loss.takes(frame_of(header(seq)));
    std::uint32_t lost_again = 0;
    for (std::uint32_t seq = first; seq < first + 4000; ++seq)
      lost_again += loss.takes(frame_of(header(seq))) ? 1 : 0;
    EXPECT_EQ(lost_again, 0u);
  }
}

TEST(FirstLoss, TakesNothingElse) {
  FirstLoss loss({wire::PacketType::aggregate, 2});
  EXPECT_FALSE(loss.takes(frame_of(header(0, 0, wire::PacketType::probe, 2))));
  EXPECT_FALSE(loss.takes(frame_of(header(0, 0, wire::PacketType::aggregate, 1))));
  EXPECT_TRUE(loss.takes(frame_of(header(0, 0, wire::PacketType::aggregate, 2))));
  auto frame = frame_of(header(1, 0, wire::PacketType::aggregate, 2));
  for (std::size_t bytes = 0; bytes < frame.size(); ++bytes)
    EXPECT_FALSE(loss.takes(std::span(frame).first(bytes))) << bytes;
  frame[wire::kUdpPayloadOffset] = std::byte{9};
  EXPECT_FALSE(loss.takes(frame)) << "another version";
}

}  // namespace
}  // namespace tributary::impair
