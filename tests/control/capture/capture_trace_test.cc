// The lines that `tributary trace` writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "control/capture/capture_format.h"
#include "core/net/frame.h"
#include "core/wire/header.h"
#include "dataplane/rdma/ud_frame.h"

namespace tributary::control {
namespace {

using aggregator::ChunkState;
using aggregator::Verdict;
using dataplane::Action;
using dataplane::CapturedFrame;
using dataplane::CapturePoint;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::vector<std::byte> plain_frame() {
  std::vector<std::byte> frame(60);
  frame[0] = frame[6] = std::byte{2};
  frame[5] = std::byte{7};
  frame[11] = std::byte{8};
  frame[12] = std::byte{0x88};
  frame[13] = std::byte{0xB5};
  return frame;
}

// What the trace writes of a frame that came a millisecond and a half after the first.
std::string line_of(const CapturedFrame& frame, std::span<const std::byte> bytes,
                    std::size_t lcores = 1) {
  const auto format = trace_format({"w0", "uplink"}, lcores);
  std::string out;
  format->begin(out);
  format->add(out, 0, {.when = frame.when - Duration::us(1500)}, {});
  out.clear();
  format->add(out, lcores - 1, frame, bytes);
  return out;
}

CapturedFrame frame_of(CapturePoint point) {
  return {.when = Instant::from_ns(5'000'000'000), .length = 60, .kept = 60, .point = point};
}

TEST(CaptureTrace, AFrameThatIsForwarded) {
  CapturedFrame frame = frame_of(CapturePoint::verdict);
  frame.verdict.action = Action::forward;
  EXPECT_EQ(
      line_of(frame, plain_frame()),
      "     0.001500  w0         60 B  02:00:00:00:00:08 > 02:00:00:00:00:07 0x88b5; forward\n");
}

// Where it goes, and whether its destination was known.
TEST(CaptureTrace, AForwardedFramesWay) {
  CapturedFrame frame = frame_of(CapturePoint::verdict);
  frame.verdict.action = Action::forward;
  frame.verdict.way = {.vlan = 10, .egress = 1};
  EXPECT_THAT(line_of(frame, plain_frame()), HasSubstr("; forward in vlan 10 to uplink\n"));
  frame.verdict.way = {.vlan = 0};
  EXPECT_THAT(line_of(frame, plain_frame()), HasSubstr("; forward untagged, flooded\n"));
}

TEST(CaptureTrace, WhatIsSentAndDroppedIsIndented) {
  CapturedFrame frame = frame_of(CapturePoint::tx);
  frame.port = 1;
  EXPECT_EQ(
      line_of(frame, plain_frame()),
      "     0.001500  uplink     60 B    sent: 02:00:00:00:00:08 > 02:00:00:00:00:07 0x88b5\n");
  frame = frame_of(CapturePoint::drop);
  frame.reason = DropReason::frame_truncated;
  EXPECT_THAT(line_of(frame, {}), HasSubstr("w0         60 B    dropped: frame-truncated: "));
}

std::vector<std::byte> contribution() {
  wire::Header h;
  h.type = wire::PacketType::contribution;
  h.job = 7;
  h.epoch = 3;
  h.op = 5;
  h.chunk = 17;
  h.seq = 81;
  h.child = 2;
  h.dtype = wire::DType::int32;
  h.element_count = 1;
  wire::FrameTemplate t;
  std::vector<std::byte> frame(128);
  const std::size_t start = wire::frame_header_bytes(t);
  constexpr std::size_t kPayload = 4;
  const std::size_t packet = wire::serialize(h, {}, std::span(frame).subspan(start)) + kPayload;
  frame.resize(wire::write_frame_headers(t, frame, packet));
  return frame;
}

TEST(CaptureTrace, AJobsPacketWithSlotAndChildren) {
  CapturedFrame frame = frame_of(CapturePoint::verdict);
  frame.verdict = {.action = Action::aggregate, .aggregation = Verdict::folded};
  frame.verdict.chunk = {.known = true,
                         .state = ChunkState::open,
                         .arrived = 4,
                         .fan_in = 8,
                         .slot = 81,
                         .children = 0b10110001};
  EXPECT_THAT(line_of(frame, contribution()),
              EndsWith("contribution of job 7: epoch 3 op 5 chunk 17 seq 81 shard 0 child 2; "
                       "folded; slot 81, open, 4 of 8 children: 0,4-5,7\n"));
  frame.verdict.aggregation = Verdict::completed;
  frame.verdict.chunk.state = ChunkState::complete;
  frame.verdict.chunk.arrived = 8;
  frame.verdict.chunk.children = 0xFF;
  frame.verdict.freed_slot = true;
  EXPECT_THAT(line_of(frame, contribution()),
              EndsWith("; completed; slot 81 is free again, complete, 8 of 8 children: 0-7\n"));
}

TEST(CaptureTrace, T19_APacketByRdmaNamesItsQueuePairs) {
  wire::Header h;
  h.type = wire::PacketType::probe;
  h.job = 3;
  std::vector<std::byte> frame(dataplane::ud_payload_at({}) + wire::kRoceLeadBytes +
                               wire::kHeaderBytes + 8);
  const std::size_t at = dataplane::ud_payload_at({});
  wire::serialize(h, {}, std::span(frame).subspan(at + wire::kRoceLeadBytes));
  dataplane::UdSend send;
  send.source_qpn = 17;
  send.qpn = wire::job_qpn(3);
  frame.resize(dataplane::write_ud_frame(send, wire::kRoceLeadBytes + wire::kHeaderBytes, frame));
  CapturedFrame seen = frame_of(CapturePoint::verdict);
  seen.verdict.action = Action::rdma;
  EXPECT_THAT(line_of(seen, frame),
              AllOf(HasSubstr("probe of job 3: "),
                    EndsWith(" from qp 17 to qp 8388611; aggregate, by RDMA\n")));
  frame[at] = std::byte{1};  // another program's
  EXPECT_THAT(line_of(seen, frame), HasSubstr(" B from qp 17 to qp 8388611; "));
}

TEST(CaptureTrace, WhereThereAreSeveralLcoresItSaysWhich) {
  CapturedFrame frame = frame_of(CapturePoint::verdict);
  frame.verdict = {.action = Action::aggregate, .handed_to = 0};
  EXPECT_THAT(line_of(frame, plain_frame(), 2), HasSubstr("  lcore 1  w0"));
  EXPECT_THAT(line_of(frame, plain_frame(), 2), HasSubstr("; handed to lcore 0\n"));
  EXPECT_THAT(line_of(frame, plain_frame(), 1), Not(HasSubstr("  lcore")));
}

TEST(CaptureTrace, LossesAreTold) {
  const auto format = trace_format({"w0"}, 1);
  std::string out;
  format->end(out, 0, "");
  EXPECT_EQ(out, "");
  format->end(out, 12, "");
  EXPECT_THAT(out, HasSubstr("12 lines are missing"));
}

TEST(CaptureTrace, TheLastLineSaysWhoEndedIt) {
  const auto format = trace_format({"w0"}, 1);
  std::string out;
  format->end(out, 12, "the switch stops");
  EXPECT_THAT(out, EndsWith(" filter\nended: the switch stops\n"));
}

}  // namespace
}  // namespace tributary::control
