// Chunks between two levels of a tree, whatever they hold: data that is passed on, results for one
// rank, sums in what they are accumulated in (T1, O12; rules 5, 6, 10, 12, 17).
#include <gmock/gmock.h>

#include "core/net/udp_peer.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::Collective;
using wire::DType;
using wire::PacketType;

using I8 = std::vector<std::int8_t>;
using I32 = std::vector<std::int32_t>;
using F32 = std::vector<float>;

class ShardTreeTest : public LeafTest {
 protected:
  template <typename T>
  static std::span<const std::byte> bytes(const std::vector<T>& v) {
    return std::as_bytes(std::span(v));
  }
  // The fields that say what a chunk is.
  static wire::Header described(wire::Header h, std::uint32_t seq, DType dtype,
                                Collective collective, std::size_t elements) {
    h.op = h.seq = seq;
    h.dtype = dtype;
    h.collective = collective;
    h.element_count = static_cast<std::uint16_t>(elements);
    h.flags |= wire::kFlagLast;
    return h;
  }
  template <typename T>
  Decision give(std::uint32_t rank, std::uint32_t seq, DType dtype, const std::vector<T>& v,
                Collective collective = Collective::allreduce,
                std::span<const std::byte> extensions = {}) {
    wire::Header h =
        described(from_worker(PacketType::contribution, rank), seq, dtype, collective, v.size());
    h.covered = 1;
    return deliver({h, extensions, bytes(v)}, place(rank));
  }
  template <typename T>
  Decision answer(std::uint32_t seq, DType dtype, const std::vector<T>& v, Collective collective,
                  std::uint32_t covered, std::span<const std::byte> extensions = {}) {
    wire::Header h = described(from_parent(PacketType::result), seq, dtype, collective, v.size());
    h.covered = covered;
    return deliver({h, extensions, bytes(v)}, parent());
  }
  Decision wait_for_broadcast(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = from_worker(PacketType::probe, rank);
    h.op = h.seq = seq;
    h.collective = Collective::broadcast;
    return deliver(h, place(rank));
  }
};

// ---- data that is passed on

TEST_F(ShardTreeTest, DataOfARankElsewhereIsKeptAndPassedOn) {
  run_epoch();
  EXPECT_EQ(answer(0, DType::int32, I32{7, 8}, Collective::broadcast, 1).verdict,
            Verdict::completed);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.covered, 1u);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(7, 8));
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::complete);
  wait_for_broadcast(2, 0);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(7, 8));
}

// No field of a packet from above is an index here, whatever it says.
TEST_F(ShardTreeTest, DataOfARankElsewhereIsNoChilds) {
  for (const std::uint16_t child : std::array<std::uint16_t, 5>{0, 1, 63, 64, 0xFFFF}) {
    SetUp();
    run_epoch();
    wire::Header h =
        described(from_parent(PacketType::result), 0, DType::int32, Collective::broadcast, 1);
    h.covered = 1;
    h.child = child;
    deliver({h, {}, bytes(I32{7})}, parent());
    for (const std::uint32_t rank : {0u, 2u}) {
      // A rank that makes another call here is told so, and not that it was heard already.
      SetUp();
      run_epoch();
      deliver({h, {}, bytes(I32{7})}, parent());
      EXPECT_EQ(give(rank, 0, DType::int32, I32{1}).verdict, Verdict::epoch_aborted)
          << "child " << child << ", rank " << rank;
      const auto told = to(Outgoing::To::job_group);
      ASSERT_THAT(told, SizeIs(1));
      EXPECT_EQ(told[0].header.reason, wire::Reason::op_mismatch);
      const auto error = wire::find_op_error(told[0].extensions);
      ASSERT_TRUE(error);
      EXPECT_EQ(error->got.rank, rank);
      EXPECT_EQ(error->expected.rank, wire::kUnknownRank);
    }
  }
}

TEST_F(ShardTreeTest, OnlyWholeDataOfOneRankIsPassedOn) {
  run_epoch();
  const auto refused = [&](const wire::Header& h, std::span<const std::byte> payload) {
    return deliver({h, {}, payload}, parent()).reason == DropReason::op_mismatch;
  };
  wire::Header h =
      described(from_parent(PacketType::result), 0, DType::int32, Collective::broadcast, 1);
  h.covered = 3;
  EXPECT_TRUE(refused(h, bytes(I32{7}))) << "a sum";
  h.covered = 1;
  h.dtype = DType::none;
  EXPECT_TRUE(refused(h, {}));
  h = described(h, 0, DType::int32, Collective::broadcast, 17);
  EXPECT_TRUE(refused(h, bytes(I32(17)))) << "more than a chunk";
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::unseen);
}

TEST_F(ShardTreeTest, DataToPassOnGoesUpAsItCame) {
  run_epoch();
  EXPECT_EQ(give(2, 0, DType::int8, I8{1, -2}, Collective::broadcast).verdict, Verdict::sent_up);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::aggregate);
  EXPECT_EQ(up()[0].header.covered, 1u);
  EXPECT_NE(up()[0].header.flags & wire::kFlagCompleteSubtree, 0u);
  EXPECT_THAT(up()[0].elements<std::int8_t>(), ElementsAre(1, -2));
  wait_for_broadcast(0, 0);
  EXPECT_THAT(sent_, IsEmpty()) << "it has nothing to send, and the parent was just told";
  answer(0, DType::int8, I8{1, -2}, Collective::broadcast, 1);
  EXPECT_THAT(sent_[0].elements<std::int8_t>(), ElementsAre(1, -2));
}

TEST_F(ShardTreeTest, Rule5_DataFromElsewhereForAnOpenChunkMeansThatRanksDisagree) {
  run_epoch();
  give(0, 0, DType::int32, I32{1});
  EXPECT_EQ(answer(0, DType::int32, I32{7}, Collective::broadcast, 1).verdict,
            Verdict::epoch_aborted);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::abort);
  EXPECT_EQ(up()[0].header.reason, wire::Reason::op_mismatch);
  EXPECT_EQ(wire::find_op_error(up()[0].extensions)->expected.rank, 0u);
}

TEST_F(ShardTreeTest, Rule6_WhoOnlyWaitsAsksTheParentOnceEvery2ms) {
  run_epoch();
  now_ = now_ + Duration::ms(2);
  wait_for_broadcast(0, 0);
  EXPECT_THAT(to(Outgoing::To::peer), IsEmpty());
  ASSERT_THAT(up(), SizeIs(2));
  EXPECT_EQ(up()[1].header.type, PacketType::probe);
  EXPECT_EQ(up()[1].header.covered, 0u);
  EXPECT_EQ(up()[1].header.collective, Collective::broadcast);
  wait_for_broadcast(2, 0);
  EXPECT_THAT(sent_, IsEmpty());
}

// All chunks of a window that were lost are asked for at once, and a result that answers a probe
// says that more was lost: a subtree that fell behind does not stay there.
TEST_F(ShardTreeTest, Rule6_EveryChunkOfTheWindowIsAskedForByItself) {
  run_epoch();
  now_ = now_ + Duration::ms(2);
  for (std::uint32_t seq = 0; seq < 3; ++seq) {
    wait_for_broadcast(0, seq);
    EXPECT_EQ(up().back().header.type, PacketType::probe);
    EXPECT_EQ(up().back().header.seq, seq);
  }
  deliver(from_parent(PacketType::pending, 1), parent());
  wait_for_broadcast(2, 0);
  EXPECT_THAT(sent_, IsEmpty());
  wait_for_broadcast(2, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  now_ = now_ + Duration::ms(2);
  wait_for_broadcast(2, 1);
  EXPECT_EQ(to(Outgoing::To::peer).at(0).header.type, PacketType::pending);
  wait_for_broadcast(2, 1);
  EXPECT_THAT(sent_, IsEmpty()) << "what the parent said before it was asked again is old";
}

// Nothing else says so for those who only receive, and the parent refuses what is next until it
// knows.
TEST_F(ShardTreeTest, Rule4_ALostAckIsRepeatedWithTheNextProbe) {
  run_epoch();
  answer(0, DType::int32, I32{7}, Collective::broadcast, 1);
  wire::Header ack = from_worker(PacketType::ack, 0);
  ack.seq = 1;
  deliver(ack, place(0));
  ASSERT_THAT(up(), SizeIs(1)) << "it is lost";
  now_ = now_ + Duration::ms(2);
  wait_for_broadcast(0, 1);
  ASSERT_THAT(up(), SizeIs(2));
  EXPECT_EQ(up()[0].header.type, PacketType::ack);
  EXPECT_EQ(up()[0].header.seq, 1u);
}

// ---- results for one rank

class TargetTest : public ShardTreeTest {
 protected:
  std::span<const std::byte> target(std::uint32_t rank) {
    wire::ExtensionWriter ext(room_);
    ext.add_target_rank(rank);
    return ext.bytes();
  }
  void send_reduce_to(std::uint32_t rank) {
    run_epoch();
    give(0, 0, DType::int32, I32{7}, Collective::reduce, target(rank));
    give(2, 0, DType::int32, I32{5}, Collective::reduce, target(rank));
    ASSERT_THAT(up(), SizeIs(1));
    EXPECT_EQ(wire::find_target_rank(up()[0].extensions), rank) << "the parent has to know";
    EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(12));
  }
  // What the parent's other children get, too: no elements.
  Decision header_only(std::uint32_t rank) {
    return answer(0, DType::int32, I32{}, Collective::reduce, 3, target(rank));
  }

 private:
  std::array<std::byte, 16> room_{};
};

TEST_F(TargetTest, AResultForARankElsewhereComesWithoutElements) {
  send_reduce_to(1);
  EXPECT_EQ(answer(0, DType::int32, I32{100}, Collective::reduce, 3, target(1)).reason,
            DropReason::op_mismatch);
  EXPECT_EQ(header_only(1).verdict, Verdict::completed);
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_THAT(sent_[0].payload, IsEmpty());
  EXPECT_EQ(wire::find_target_rank(sent_[0].extensions), 1u);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::complete);
}

TEST_F(TargetTest, AResultForARankHereIsWaitedForAndReachesThatRankAlone) {
  send_reduce_to(2);
  EXPECT_EQ(header_only(2).reason, DropReason::duplicate) << "the others' copy";
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent);
  EXPECT_EQ(answer(0, DType::int32, I32{100}, Collective::reduce, 3, target(2)).verdict,
            Verdict::completed);
  ASSERT_THAT(sent_, SizeIs(2));
  EXPECT_EQ(sent_[0].peer, place(2));
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(100));
  EXPECT_EQ(sent_[1].to, Outgoing::To::job_group);
  EXPECT_THAT(sent_[1].payload, IsEmpty());
}

// ---- what a sum is accumulated in (rule 17)

TEST_F(ShardTreeTest, Rule17_ANarrowTypesSumGoesUpAsItsAccumulator) {
  run_epoch();
  give(0, 0, DType::int8, I8{100, -100});
  give(2, 0, DType::int8, I8{100, -100});
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.dtype, DType::int8);
  EXPECT_EQ(up()[0].header.element_count, 2);
  EXPECT_EQ(up()[0].header.flags & wire::kFlagOverflow, 0u);
  EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(200, -200));
  deliver(from_parent(PacketType::unknown, 0), parent());
  EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(200, -200)) << "sent again";
  EXPECT_EQ(answer(0, DType::int8, I8{1, 2}, Collective::allreduce, 3).verdict, Verdict::completed);
  EXPECT_THAT(sent_[0].elements<std::int8_t>(), ElementsAre(1, 2));
}

TEST_F(ShardTreeTest, Rule17_HalfFloatsGoUpAsFloats) {
  run_epoch();
  const std::vector<std::uint16_t> one_half = {0x3800};      // float16
  const std::vector<std::uint16_t> one_and_half = {0x3FC0};  // bfloat16
  for (const std::uint32_t rank : {0u, 2u}) give(rank, 0, DType::float16, one_half);
  EXPECT_THAT(up()[0].elements<float>(), ElementsAre(1.0F));
  for (const std::uint32_t rank : {0u, 2u}) give(rank, 1, DType::bfloat16, one_and_half);
  EXPECT_THAT(up()[0].elements<float>(), ElementsAre(3.0F));
}

class NarrowTest : public ShardTreeTest {
 protected:
  void SetUp() override {
    config::JobConfig job = leaf_job();
    job.partials = wire::Partials::narrow;
    build_leaf(job);
    start_info_.partials = static_cast<std::uint8_t>(wire::Partials::narrow);
  }
};

// Rule 12: what saturates on the way says so, also when it is sent again.
TEST_F(NarrowTest, Rule12_NarrowPartialsSaturateOnceAndSaySo) {
  run_epoch();
  give(0, 0, DType::int8, I8{100, 1});
  give(2, 0, DType::int8, I8{100, 1});
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_THAT(up()[0].elements<std::int8_t>(), ElementsAre(127, 2));
  EXPECT_NE(up()[0].header.flags & wire::kFlagOverflow, 0u);
  deliver(from_parent(PacketType::unknown, 0), parent());
  EXPECT_THAT(up()[0].elements<std::int8_t>(), ElementsAre(127, 2));
  EXPECT_NE(up()[0].header.flags & wire::kFlagOverflow, 0u);
}

TEST_F(ShardTreeTest, Rule12_OverflowOfAResultReachesTheRanks) {
  run_epoch();
  give(0, 0, DType::int32, I32{1});
  give(2, 0, DType::int32, I32{1});
  wire::Header h =
      described(from_parent(PacketType::result), 0, DType::int32, Collective::allreduce, 1);
  h.covered = 3;
  h.flags |= wire::kFlagOverflow;
  deliver({h, {}, bytes(I32{9})}, parent());
  EXPECT_NE(sent_[0].header.flags & wire::kFlagOverflow, 0u);
}

TEST_F(ShardTreeTest, BlockScaledSumsKeepTheirScale) {
  run_epoch();
  const auto scaled = [&](wire::Header h) {
    h = described(h, 0, DType::int32, Collective::allreduce, 1);
    h.encoding = wire::Encoding::block_scaled;
    h.scale_exponent = -5;
    return h;
  };
  for (const std::uint32_t rank : {0u, 2u}) {
    wire::Header h = scaled(from_worker(PacketType::contribution, rank));
    h.covered = 1;
    deliver({h, {}, bytes(I32{3})}, place(rank));
  }
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.encoding, wire::Encoding::block_scaled);
  EXPECT_EQ(up()[0].header.scale_exponent, -5);
  EXPECT_THAT(up()[0].elements<std::int32_t>(), ElementsAre(6));
  wire::Header h = scaled(from_parent(PacketType::result));
  h.covered = 3;
  EXPECT_EQ(deliver({h, {}, bytes(I32{8})}, parent()).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].header.scale_exponent, -5);
}

// ---- sums of a switch below, at the root

class RootShardTest : public RootTest {
 protected:
  using Change = void (*)(config::JobConfig&);
  void build_root(Change change) {
    config::JobConfig job = root_job();
    change(job);
    build(test_switch({job}));
    run_epoch();
  }
  template <typename T>
  Decision sum(wire::Header h, const std::vector<T>& v) {
    return deliver({h, {}, std::as_bytes(std::span(v))}, leaf());
  }
  template <typename T>
  Decision own(std::uint32_t seq, DType dtype, const std::vector<T>& v) {
    wire::Header h = data_header(1, seq, static_cast<std::uint16_t>(v.size()), dtype);
    h.fan_in = 2;
    return deliver({h, {}, std::as_bytes(std::span(v))}, worker());
  }
  wire::Header sum_of(DType dtype, std::uint32_t seq = 0) const {
    wire::Header h = sum_header(seq);
    h.dtype = dtype;
    return h;
  }
};

TEST_F(RootShardTest, Rule17_AccumulatorsAreMergedAndRoundedOnce) {
  for (const bool sum_first : {true, false}) {
    build_root([](config::JobConfig&) {});
    const I32 below{200};  // more than the type holds, less than its accumulator
    if (sum_first) sum(sum_of(DType::int8), below);
    own(0, DType::int8, I8{-100});
    if (!sum_first) sum(sum_of(DType::int8), below);
    ASSERT_THAT(sent_, SizeIs(1));
    EXPECT_THAT(sent_[0].elements<std::int8_t>(), ElementsAre(100));
    EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, 0u);
  }
}

TEST_F(RootShardTest, Rule17_AMeanIsDividedByTheWorkersOnce) {
  build_root([](config::JobConfig&) {});
  wire::Header h = sum_of(DType::float32);
  h.reduce_op = wire::ReduceOp::mean;
  sum(h, F32{7});
  h = data_header(1, 0, 1, DType::float32);
  h.fan_in = 2;
  h.reduce_op = wire::ReduceOp::mean;
  const F32 own_data{2};
  deliver({h, {}, std::as_bytes(std::span(own_data))}, worker());
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_THAT(sent_[0].elements<float>(), ElementsAre(3.0F)) << "of three ranks";
}

TEST_F(RootShardTest, Rule17_PartialsHaveTheSizeThatTheJobSays) {
  build_root([](config::JobConfig&) {});
  EXPECT_EQ(sum(sum_of(DType::int8), I8{1}).reason, DropReason::bad_payload_length);
  build_root([](config::JobConfig& job) { job.partials = wire::Partials::narrow; });
  EXPECT_EQ(sum(sum_of(DType::int8), I32{1}).reason, DropReason::bad_payload_length);
  EXPECT_EQ(sum(sum_of(DType::int8), I8{1}).verdict, Verdict::opened);
}

TEST_F(RootShardTest, Rule12_OverflowBelowMarksTheResult) {
  build_root([](config::JobConfig&) {});
  wire::Header h = sum_of(DType::int32);
  h.flags |= wire::kFlagOverflow;
  sum(h, I32{1});
  own(0, DType::int32, I32{1});
  EXPECT_NE(sent_[0].header.flags & wire::kFlagOverflow, 0u);
}

TEST_F(RootShardTest, DataToPassOnIsNoSum) {
  build_root([](config::JobConfig&) {});
  wire::Header h = sum_of(DType::int8);
  h.collective = Collective::broadcast;
  h.covered = 1;
  EXPECT_EQ(sum(h, I32{1}).reason, DropReason::bad_payload_length) << "accumulators are of sums";
  h.covered = 2;
  EXPECT_EQ(sum(h, I8{1}).reason, DropReason::bad_coverage);
  h.covered = 1;
  EXPECT_EQ(sum(h, I8{1}).verdict, Verdict::completed);
  EXPECT_THAT(sent_[0].elements<std::int8_t>(), ElementsAre(1));
}

// Rule 2: who sends seq s holds all before s - W, even where its ACK was lost.
TEST_F(RootShardTest, Rule4_DataToPassOnSaysWhatItsSwitchHolds) {
  build_root([](config::JobConfig& job) { job.window = 1; });
  wire::Header ack = header(PacketType::ack, 1);
  ack.fan_in = 2;
  for (const std::uint32_t seq : {0u, 1u, 2u}) {
    // In an all_gather another rank sends in between.
    wire::Header h = seq == 1 ? data_header(1, seq, 1) : sum_header(seq);
    h.fan_in = 2;
    h.collective = Collective::all_gather;
    h.covered = 1;
    const I32 data{1};
    const wire::UdpPeer from = seq == 1 ? worker() : leaf();
    EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(data))}, from).verdict, Verdict::completed)
        << seq;
    ack.seq = seq + 1;
    deliver(ack, worker());
  }
}

// The order of children, for any order of arrival: [(0, 2), 1].
TEST_F(RootShardTest, T15_ASwitchIsOneOperandOfTheOrder) {
  const auto streaming = [](config::JobConfig& job) { job.order = wire::Order::reproducible; };
  const auto collecting = [](config::JobConfig& job) {
    job.order = wire::Order::reproducible;
    job.trigger = config::Trigger::collect;
  };
  const float below = 1e30F;
  for (const Change change : {Change(streaming), Change(collecting)})
    for (const bool sum_first : {true, false}) {
      build_root(change);
      if (sum_first) sum(sum_of(DType::float32), F32{below});
      own(0, DType::float32, F32{-below});
      if (!sum_first) sum(sum_of(DType::float32), F32{below});
      ASSERT_THAT(sent_, SizeIs(1));
      EXPECT_THAT(sent_[0].elements<float>(), ElementsAre(0.0F));
      // A half float comes from below as a float, and is rounded here, once.
      const std::vector<std::uint16_t> minus_one = {0xBC00};
      if (sum_first) sum(sum_of(DType::float16, 1), F32{70000});  // no float16
      own(1, DType::float16, minus_one);
      if (!sum_first) sum(sum_of(DType::float16, 1), F32{70000});
      ASSERT_THAT(sent_, SizeIs(1));
      EXPECT_THAT(sent_[0].elements<std::uint16_t>(), ElementsAre(0x7C00)) << "infinity";
    }
}

// The topology's file gives every job children, also one that a single switch sums.
TEST_F(RootShardTest, T15_ADeclaredOrderHoldsWhereOneSwitchSums) {
  config::JobConfig job = test_job(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    job.children.push_back({false, rank, 0, "", {rank}});
  job.order = wire::Order::reproducible;
  job.child_order = config::Bracket{{{{}, 0}, {{{{}, 1}, {{}, 2}}, 0}}, 0};  // [0, [1, 2]]
  build(test_switch({job}));
  join_all();
  const F32 data{1.0F, 1e30F, -1e30F};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const wire::Header h = data_header(rank, 0, 1, DType::float32);
    deliver({h, {}, std::as_bytes(std::span(&data[rank], 1))}, peer(rank));
  }
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_THAT(sent_[0].elements<float>(), ElementsAre(1.0F)) << "from left to right it is 0";
}

}  // namespace
}  // namespace tributary::aggregator
