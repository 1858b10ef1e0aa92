#include "worker/session/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "worker/layout/stated_total.h"

namespace tributary::worker {
namespace {

TEST(Failure, RankListsReadWell) {
  const std::array<std::uint32_t, 3> ranks = {2, 3, 5};
  EXPECT_EQ(rank_list(std::span(ranks).first(0)), "unnamed ranks");
  EXPECT_EQ(rank_list(std::span(ranks).first(1)), "rank 2");
  EXPECT_EQ(rank_list(std::span(ranks).first(2)), "ranks 2 and 3");
  EXPECT_EQ(rank_list(ranks), "ranks 2, 3 and 5");
  std::array<std::uint32_t, 40> many;
  std::iota(many.begin(), many.end(), 0u);
  EXPECT_TRUE(rank_list(many).ends_with("14, 15 and 24 more"));
}

TEST(Failure, OpsAreDescribedByWhatDiffers) {
  wire::OpDescription d;
  d.total_elements = 1024;
  d.dtype = wire::DType::float32;
  EXPECT_EQ(describe(d), "1024 float32");
  d.reduce_op = wire::ReduceOp::max;
  EXPECT_EQ(describe(d), "1024 float32 (max)");
  d.total_elements = 0;
  d.element_count = 256;
  d.collective = wire::Collective::broadcast;
  EXPECT_EQ(describe(d), "a chunk of 256 float32 (max) for broadcast");
  d.collective = wire::Collective::barrier;
  EXPECT_EQ(describe(d), "a barrier");
  d = {512, 1, 0, wire::DType::float32};
  d.collective = wire::Collective::broadcast;
  d.target = 3;
  EXPECT_EQ(describe(d), "512 float32 for broadcast from rank 3");
  d.collective = wire::Collective::reduce;
  EXPECT_EQ(describe(d), "512 float32 for reduce to rank 3");
  d.collective = wire::Collective::update;
  EXPECT_EQ(describe(d), "512 float32 for update of array 3");
  d.collective = wire::Collective::reduce_scatter;
  EXPECT_EQ(describe(d), "512 float32 for reduce_scatter");
  d = {512, 1, 0, wire::DType::int32};
  d.encoding = wire::Encoding::block_scaled;
  d.scale_exponent = -3;
  EXPECT_EQ(describe(d), "512 int32, block-scaled by 2^-3");
}

TEST(Failure, A3_RanksWhoseAddressesDifferAreNamedWithThem) {
  wire::OpError error;
  error.expected = {layout::number_of({1000, 0x3000}), 0, 16, wire::DType::float32};
  error.got = {layout::number_of({1000, 0x11000}), 2, 16, wire::DType::float32};
  EXPECT_EQ(describe(error.got), "1000 float32");
  std::array<std::byte, 64> room;
  wire::ExtensionWriter w(room);
  ASSERT_TRUE(w.add(error));
  wire::Packet p;
  p.extensions = w.bytes();
  p.header.job = 9;
  p.header.op = 4;
  p.header.reason = wire::Reason::op_mismatch;
  const Failure f = aborted(p);
  EXPECT_EQ(f.text,
            "job 9 op 4: rank 2 sent 1000 float32 in memory whose address ends in 0x11000, rank 0 "
            "sent 1000 float32 in memory whose address ends in 0x3000; address bits need memory at "
            "the same low bits on all ranks, as allocate() gives it");
  EXPECT_EQ(f.ranks, (std::vector<std::uint32_t>{2, 0}));
}

// Every reason an ABORT may carry has its own text; unknown ones are named by the wire's word.
TEST(Failure, EveryAbortNamesItsCause) {
  std::array<std::byte, 64> room;
  wire::ExtensionWriter w(room);
  w.add_missing_ids(std::array{3u});
  wire::Packet p;
  p.extensions = w.bytes();
  p.header.job = 9;
  p.header.op = 4;
  p.header.chunk = 5;
  const auto text = [&](wire::Reason r) {
    p.header.reason = r;
    return aborted(p).text;
  };
  using wire::Reason;
  EXPECT_EQ(text(Reason::deadline),
            "job 9 op 4 chunk 5: the switch's deadline passed without rank 3");
  EXPECT_EQ(text(Reason::lease_expired), "job 9: rank 3 fell silent and the lease expired");
  EXPECT_EQ(text(Reason::rank_left), "job 9: rank 3 left while an op was open");
  EXPECT_EQ(text(Reason::rank_restarted), "job 9: rank 3 restarted and joined anew");
  EXPECT_EQ(text(Reason::shutdown), "job 9: the switch is shutting down");
  EXPECT_EQ(text(Reason::parent_lost),
            "job 9: the switch above this one fell silent or was restarted");
  EXPECT_EQ(text(Reason::host_lost),
            "job 9: none of the job's completion hosts answers the switch");
  EXPECT_EQ(
      text(Reason::model_lost),
      "job 9 op 4 chunk 5: the job's completion host has no model that this continues: it was "
      "restarted, or another one took over, or the model has not been opened; join again and "
      "open it");
  EXPECT_EQ(text(Reason::model_mismatch),
            "job 9 op 4 chunk 5: the parameter server's model has other arrays "
            "(optimizer.parameters), or has not had the rest of its step");
  p.header.slot = 240;
  EXPECT_EQ(text(Reason::parent_lost),
            "job 9: switch 240 above this one fell silent or was restarted");
  EXPECT_EQ(text(Reason::lease_expired),
            "job 9: rank 3 (behind switch 240) fell silent and the lease expired");
  p.header.slot = 0;
  EXPECT_EQ(text(Reason::no_slot), "job 9: the switch aborted the epoch (no-slot), rank 3");
  EXPECT_EQ(text(Reason::op_mismatch), "job 9 op 4: workers disagree on count, type or operation");
}

TEST(Failure, MismatchOfEqualShapesSaysWhatElseDiffers) {
  wire::OpError e;
  e.expected.dtype = e.got.dtype = wire::DType::int32;
  e.expected.element_count = e.got.element_count = 8;
  e.got.rank = 1;
  e.got.last = true;
  std::array<std::byte, 64> room;
  wire::ExtensionWriter w(room);
  w.add(e);
  wire::Packet p;
  p.extensions = w.bytes();
  p.header.reason = wire::Reason::op_mismatch;
  EXPECT_EQ(
      aborted(p).text,
      "job 0 op 0: rank 1 sent a chunk of 8 int32 ending here, rank 0 sent a chunk of 8 int32");
}

// A switch that dies just after an op began has been heard since, and is named all the same.
TEST(Failure, AnOpWhoseSwitchFellSilentNamesTheSwitch) {
  OpTimeout t{1, 115, 1, Duration::seconds(12), "10.77.0.250", Duration::seconds(11), {}};
  EXPECT_EQ(timed_out(t).text,
            "job 1 op 115 chunk 1: timed out: no result within the timeout of 12 s: the switch at "
            "10.77.0.250 was "
            "last heard "
            "11 s ago and named no cause");
  t.silent_for = Duration::seconds(12);
  EXPECT_EQ(timed_out(t).text,
            "job 1 op 115 chunk 1: timed out: no result within the timeout of 12 s: the switch did "
            "not answer at "
            "10.77.0.250");
}

// Small packets pass where an interface has a smaller MTU than its neighbours.
TEST(Failure, AnOpOfWhichNoLargePacketCameNamesTheMtu) {
  OpTimeout t{1, 0, 0, Duration::seconds(12), "10.77.0.250", Duration::seconds(1), {}, 8274};
  EXPECT_THAT(timed_out(t).text,
              testing::EndsWith("named no cause; no packet of this size, 8274 bytes, has come from "
                                "it: if an interface on the way has a smaller MTU, raise it "
                                "(`tributary doctor`; on the switch, `tributary show drops` counts "
                                "mtu-exceeded)"));
  t.packet_bytes = 500;
  EXPECT_THAT(timed_out(t).text, testing::EndsWith("named no cause"));
}

}  // namespace
}  // namespace tributary::worker
