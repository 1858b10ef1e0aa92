// Where sequence numbers wrap (rules 2 and 4, C4): what goes up and is acknowledged there, and
// results that are asked for across it. Slots are in shard_slots_test.cc, sums in
// shard_data_test.cc.
#include <gmock/gmock.h>

#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::PacketType;

// Sums, results, questions and acknowledgements where seqs wrap; one ACK that goes up for each
// result that both children hold, in order.
TEST_F(LeafTest, Rule4_AcknowledgesUpwardsWhereSeqsWrap) {
  constexpr std::uint32_t kFirst = 0xFFFFFFFA;
  join_worker(0);
  join_worker(2);
  epoch_ = 500;
  first_seq_ = kFirst;
  ASSERT_EQ(start(500, join_nonce(), kFirst).verdict, Verdict::answered);
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint32_t seq = kFirst + i;
    contribute_worker(0, seq, 7);
    contribute_worker(2, seq, 5);
    ASSERT_THAT(up(), SizeIs(1)) << i;
    EXPECT_EQ(up()[0].header.type, PacketType::aggregate);
    EXPECT_EQ(up()[0].header.seq, seq);
    EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(12));
    now_ = now_ + Duration::ms(3);
    probe(0, seq);
    ASSERT_THAT(up(), SizeIs(1)) << i;
    EXPECT_EQ(up()[0].header.type, PacketType::probe);
    EXPECT_EQ(up()[0].header.seq, seq);
    EXPECT_EQ(result(seq, 100).verdict, Verdict::completed);
    wire::Header ack = from_worker(PacketType::ack, 0);
    ack.seq = seq + 1;
    deliver(ack, place(0));
    ASSERT_THAT(up(), SizeIs(1)) << i;
    EXPECT_EQ(up()[0].header.type, PacketType::ack);
    EXPECT_EQ(up()[0].header.seq, seq + 1);
    ack.child = 1;
    ack.origin = 2;
    deliver(ack, place(2));
    EXPECT_THAT(up(), IsEmpty()) << "nothing new";
    EXPECT_EQ(counters().results_retained.get(), 0u);
  }
}

// Results from before seqs wrapped are asked for after it, and what is not there yet is not taken
// for something that is over.
TEST_F(EngineTest, C4_ProbesFindTheirResultsAcrossTheWrap) {
  constexpr std::uint32_t kChunks = 20;
  for (std::uint32_t before_wrap = 0; before_wrap <= kChunks + 6; ++before_wrap) {
    const std::uint32_t first = 0u - before_wrap;
    config::SwitchConfig c = test_switch({test_job(2, 4)});
    c.cache.megabytes = 1;
    build(c, {41, first});
    join_all();
    ASSERT_EQ(sent_[0].header.seq, first);
    for (std::uint32_t i = 0; i < kChunks; ++i) {
      complete(first + i);
      ASSERT_EQ(sent_.size(), 1u);
      EXPECT_EQ(sent_[0].header.seq, first + i);
    }
    for (std::uint32_t r = 0; r < 2; ++r) acknowledge(r, first + kChunks);
    EXPECT_EQ(counters().results_retained.get(), 0u);
    for (std::uint32_t i = 0; i < kChunks; ++i) {
      EXPECT_EQ(probe(1, first + i).verdict, Verdict::answered) << i;
      EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
      EXPECT_EQ(sent_.at(0).header.seq, first + i);
      EXPECT_EQ(contribute(0, first + i, {9}, wire::kFlagResend).verdict, Verdict::answered);
      EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
    }
    EXPECT_EQ(counters().cache_hits.get(), 2 * kChunks);
    for (std::uint32_t i = kChunks; i < kChunks + 4; ++i) {
      EXPECT_EQ(probe(1, first + i).verdict, Verdict::answered) << i;
      EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown) << i;
    }
    EXPECT_EQ(contribute(0, first + kChunks + 4, {1}).reason, DropReason::beyond_window);
    EXPECT_EQ(contribute(0, first + kChunks - 1, {1}).verdict, Verdict::dropped);
    complete(first + kChunks);
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
  }
}

}  // namespace
}  // namespace tributary::aggregator
