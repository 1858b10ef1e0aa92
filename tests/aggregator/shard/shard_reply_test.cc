// Recipients of results: the collectives (C3), results asked for again (C4, rule 4), and those of
// chunks that this switch knows next to nothing of (T17).
#include <gmock/gmock.h>

#include "aggregator/chunk/contribution.h"
#include "core/net/udp_peer.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::Collective;
using wire::PacketType;

class ReplyTest : public EngineTest {
 protected:
  Decision give(std::uint32_t rank, std::uint32_t seq, std::int32_t value, Collective collective,
                std::uint32_t target = 0) {
    wire::Header h = data_header(rank, seq, 1);
    h.collective = collective;
    std::array<std::byte, 16> buffer;
    wire::ExtensionWriter ext(buffer);
    if (has_target(collective)) ext.add_target_rank(target);
    return deliver({h, ext.bytes(), std::as_bytes(std::span(&value, 1))}, peer(rank));
  }
  Decision ask(std::uint32_t rank, std::uint32_t seq, Collective collective,
               bool contributes = false) {
    wire::Header h = header(PacketType::probe, rank);
    h.op = seq;
    h.seq = seq;
    h.collective = collective;
    h.covered = contributes ? 1 : 0;
    return deliver(h, peer(rank));
  }
};

// reduce and reduce_scatter: one rank needs the payload, all need to know that it is done.
TEST_F(ReplyTest, ReducedPayloadGoesToItsRankAlone) {
  for (const auto collective : {Collective::reduce, Collective::reduce_scatter}) {
    build(3);
    join_all();
    for (std::uint32_t r = 0; r < 3; ++r) give(r, 0, 10, collective, 2);
    ASSERT_EQ(sent_.size(), 2u);
    EXPECT_EQ(sent_[0].to, Outgoing::To::peer);
    EXPECT_EQ(sent_[0].peer, peer(2));
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{30});
    EXPECT_EQ(wire::find_target_rank(sent_[0].extensions), 2u);
    EXPECT_EQ(sent_[1].to, Outgoing::To::job_group);
    EXPECT_EQ(sent_[1].header.element_count, 0);
    EXPECT_TRUE(sent_[1].payload.empty());
    ask(2, 0, collective);
    EXPECT_EQ(sent_.at(0).payload.size(), 4u);
    ask(1, 0, collective);
    EXPECT_EQ(sent_.at(0).payload.size(), 0u);
  }
}

TEST_F(ReplyTest, RanksThatNameDifferentTargetsDisagree) {
  build(2);
  join_all();
  give(0, 0, 1, Collective::reduce, 0);
  EXPECT_EQ(give(1, 0, 1, Collective::reduce, 1).verdict, Verdict::epoch_aborted);
  build(2);
  join_all();
  EXPECT_EQ(give(0, 0, 1, Collective::reduce, 2).reason, DropReason::bad_target);
}

TEST_F(ReplyTest, BroadcastIsPassedOnAtOnce) {
  build(3);
  join_all();
  EXPECT_EQ(give(1, 0, 77, Collective::broadcast).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.covered, 1u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{77});
  EXPECT_EQ(give(1, 0, 77, Collective::broadcast).reason, DropReason::duplicate);
  EXPECT_EQ(give(0, 0, 5, Collective::broadcast).verdict, Verdict::epoch_aborted);
}

TEST_F(ReplyTest, AllGatherPassesOnOneChunkOfEachRank) {
  build(3);
  join_all();
  for (std::uint32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(give(r, r, static_cast<std::int32_t>(r), Collective::all_gather).verdict,
              Verdict::completed);
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>(),
              std::vector<std::int32_t>{static_cast<std::int32_t>(r)});
  }
}

// A rank that only receives sends no acknowledgement; a result that a rank lacks may not be
// overwritten, however fast the root is.
TEST_F(ReplyTest, BroadcastWaitsForTheSlowestReceiver) {
  build(2, 2);
  join_all();
  for (std::int32_t s = 0; s < 4; ++s)
    EXPECT_EQ(give(0, static_cast<std::uint32_t>(s), s, Collective::broadcast).verdict,
              Verdict::completed);
  EXPECT_EQ(give(0, 4, 4, Collective::broadcast).reason, DropReason::beyond_window);
  // Rule 6: the root is to wait, not to send again; and is told for whom.
  ask(0, 4, Collective::broadcast, true);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_EQ(sent_.at(0).missing(), std::vector<std::uint32_t>{1});
  ask(1, 4, Collective::broadcast);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  ask(1, 0, Collective::broadcast);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{0});
  acknowledge(1, 1);  // the root's own sends have said that it holds 0 and 1
  ask(0, 4, Collective::broadcast, true);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown) << "there is room now";
  EXPECT_EQ(give(0, 4, 4, Collective::broadcast).verdict, Verdict::completed);
}

// The same is true of a probe, when the data itself was lost: what a probe says that its rank holds
// makes room. Otherwise all ranks could wait for one another for ever.
TEST_F(ReplyTest, ProbingAcknowledgesTheResultThatIsInTheWay) {
  build(3, 1);
  join_all();
  complete(0);
  EXPECT_EQ(give(0, 1, 1, Collective::broadcast).verdict, Verdict::completed);
  EXPECT_EQ(give(1, 2, 7, Collective::allreduce).reason, DropReason::beyond_window);
  ask(1, 2, Collective::allreduce);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  EXPECT_EQ(sent_.at(0).missing(), std::vector<std::uint32_t>{2});
  ask(2, 2, Collective::allreduce);
  EXPECT_EQ(give(1, 2, 7, Collective::allreduce).verdict, Verdict::opened);
  EXPECT_EQ(give(2, 2, 7, Collective::allreduce).verdict, Verdict::folded);
  EXPECT_EQ(give(0, 2, 7, Collective::allreduce).verdict, Verdict::completed);
}

// A result that all have acknowledged is still there by its name, as long as there is room.
TEST_F(ReplyTest, C4_AcknowledgedResultsStayInTheCache) {
  config::SwitchConfig c = test_switch({test_job(2, 4)});
  c.cache.megabytes = 1;
  build(c);
  join_all();
  for (std::uint32_t seq = 0; seq < 20; ++seq) complete(seq);
  for (std::uint32_t r = 0; r < 2; ++r) acknowledge(r, 20);
  EXPECT_EQ(counters().results_retained.get(), 0u);
  for (std::uint32_t seq = 0; seq < 20; ++seq) {
    EXPECT_EQ(probe(1, seq).verdict, Verdict::answered) << seq;
    EXPECT_EQ(sent_.at(0).header.seq, seq);
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
  }
  EXPECT_EQ(counters().cache_hits.get(), 20u);
  EXPECT_EQ(counters().cache_evictions.get(), 0u);
  join_all(1);  // a new epoch begins at op 0 again
  EXPECT_EQ(probe(1, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
}

// A rank that sends again asks for the result, however long ago that was.
TEST_F(ReplyTest, C4_O6_DataThatIsSentAgainIsAnsweredFromTheCache) {
  for (const std::uint32_t megabytes : {1u, 0u}) {
    config::SwitchConfig c = test_switch({test_job(2, 4)});
    c.cache.megabytes = megabytes;
    build(c);
    join_all();
    for (std::uint32_t seq = 0; seq < 20; ++seq) complete(seq);
    for (std::uint32_t r = 0; r < 2; ++r) acknowledge(r, 20);
    for (const std::uint32_t seq : {0u, 11u, 12u, 19u}) {  // forgotten, and remembered
      const Decision d = contribute(1, seq, {2}, wire::kFlagResend);
      if (megabytes == 0) {
        EXPECT_EQ(d.reason, DropReason::stale_seq) << seq;
        EXPECT_TRUE(sent_.empty());
        continue;
      }
      EXPECT_EQ(d.verdict, Verdict::answered) << seq;
      ASSERT_EQ(sent_.size(), 1u);
      EXPECT_EQ(sent_[0].header.type, PacketType::result);
      EXPECT_EQ(sent_[0].peer, peer(1));
      EXPECT_EQ(sent_[0].header.seq, seq);
      EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{3});
      // A mere copy asks for nothing.
      EXPECT_EQ(contribute(1, seq, {2}).verdict, Verdict::dropped);
      EXPECT_TRUE(sent_.empty());
    }
    EXPECT_EQ(counters().cache_hits.get(), megabytes == 0 ? 0u : 4u);
    EXPECT_EQ(counters().cache_misses.get(), megabytes == 0 ? 4u : 0u);
    EXPECT_EQ(counters().contributions.get(), 40u);
    EXPECT_EQ(counters().slots_open.get(), 0u);
  }
}

TEST_F(ReplyTest, C4_CacheIsBoundedAndTheOldestGoes) {
  config::JobConfig job = test_job(1, 4);
  job.chunk_bytes = 8192;
  config::SwitchConfig c = test_switch({job});
  c.cache.megabytes = 1;
  build(c);
  join_all();
  constexpr std::uint32_t kRoom = 128;  // of 8 KiB in a MiB
  for (std::uint32_t seq = 0; seq < 2 * kRoom; ++seq) contribute(0, seq, {1});
  acknowledge(0, 2 * kRoom);
  EXPECT_EQ(counters().cache_evictions.get(), kRoom);
  EXPECT_EQ(probe(0, kRoom - 1).reason, DropReason::stale_seq);
  EXPECT_EQ(probe(0, kRoom).verdict, Verdict::answered);
  EXPECT_EQ(counters().cache_misses.get(), 1u);
}

// Two jobs of one rank whose results are of one size, and have their room in common.
class SharedCacheTest : public ReplyTest {
 protected:
  static constexpr std::uint32_t kRoom = 128;  // of 8 KiB in a MiB
  void SetUp() override {
    config::JobConfig job = test_job(1, 4);
    job.chunk_bytes = 8192;
    config::SwitchConfig c = test_switch({job, job});
    c.jobs[1].id = kJob + 1;
    c.cache.megabytes = 1;
    build(c);
    for (std::size_t j = 0; j < 2; ++j) {
      std::array<std::byte, 16> buffer;
      wire::ExtensionWriter ext(buffer);
      ext.add_nonce(nonce(0, 0));
      deliver({of(j, header(PacketType::join, 0)), ext.bytes(), {}}, peer(0));
      epochs_[j] = sent_.at(0).header.epoch;
    }
  }
  wire::Header of(std::size_t job, wire::Header h) const {
    h.job = kJob + static_cast<std::uint32_t>(job);
    h.epoch = epochs_[job];
    return h;
  }
  // The job's next so many results, all acknowledged.
  void run(std::size_t job, std::uint32_t results) {
    const std::int32_t value = 1;
    for (std::uint32_t i = 0; i < results; ++i, ++next_[job])
      deliver({of(job, data_header(0, next_[job], 1)), {}, std::as_bytes(std::span(&value, 1))},
              peer(0));
    wire::Header ack = of(job, header(PacketType::ack, 0));
    ack.seq = next_[job];
    deliver(ack, peer(0));
  }
  [[nodiscard]] std::uint64_t evicted(std::size_t job) const {
    return engine_->counters(job).cache_evictions.get();
  }
  std::array<std::uint16_t, 2> epochs_{};
  std::array<std::uint32_t, 2> next_{};
};

// An operator who looks for whose resends find nothing has to find who lost results, and not who is
// busy.
TEST_F(SharedCacheTest, C4_AnEvictionIsCountedForTheJobThatLostAResult) {
  run(0, kRoom);
  EXPECT_EQ(evicted(0), 0u);
  run(1, 5);
  EXPECT_EQ(evicted(0), 5u);
  EXPECT_EQ(evicted(1), 0u);
  run(1, kRoom - 5);  // all that the former has
  EXPECT_EQ(evicted(0), kRoom);
  EXPECT_EQ(evicted(1), 0u);
  run(0, 2);
  EXPECT_EQ(evicted(0), kRoom);
  EXPECT_EQ(evicted(1), 2u);
}

// ---- in the middle of a tree: a chunk that is known by an announcement alone, because the engine
// next door to the switch below has taken the only sum of it (T17), and what the ranks there are
// asked for again is late, or lost

// Switch 300 with rank 0, which hosts; and rank 2.
class UndescribedTest : public LeafTest {
 protected:
  static constexpr std::uint32_t kBelow = 300;
  static constexpr std::uint32_t kBelowIpv4 = 0x0A4D00C8;
  static wire::UdpPeer below() { return {0, 47000, kBelowIpv4, std::nullopt, {2, 8}}; }
  void SetUp() override {
    config::JobConfig job = leaf_job();
    job.children[0] = {true, kBelow, kBelowIpv4, "p0", {0}};
    build_leaf(job);
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(1);
    wire::Header h = from_worker(PacketType::join, 0);
    h.origin = kBelow;
    h.epoch = 0;
    h.flags = wire::kFlagCompleteSubtree;
    h.covered = 1;
    deliver({h, ext.bytes(), {}}, below());
    join_worker(2);
    const std::uint64_t nonce = join_nonce();
    epoch_ = 500;
    ASSERT_EQ(start(500, nonce).verdict, Verdict::answered);
  }
  void announce(Collective collective = Collective::allreduce) {
    wire::Header h = from_worker(PacketType::escalation, 0);
    h.origin = kBelow;
    h.collective = collective;
    h.reason = wire::Reason::resend;
    ASSERT_EQ(deliver(h, below()).verdict, Verdict::forwarded);
  }
  // A packet of rank 0, by way of the switch below.
  wire::Header relayed(PacketType type, Collective collective) const {
    wire::Header h = from_worker(type, 0);
    h.flags = wire::kFlagBypass;
    h.covered = 1;
    h.collective = collective;
    return h;
  }
  Decision resend(Collective collective, std::span<const std::byte> extensions = {}) {
    wire::Header h = relayed(PacketType::contribution, collective);
    h.flags |= wire::kFlagLast | wire::kFlagResend;
    h.dtype = wire::DType::float32;
    h.element_count = 1;
    const float value = 5;
    return deliver({h, extensions, std::as_bytes(std::span(&value, 1))}, below());
  }
  Decision whole(Collective collective, std::span<const float> values, std::uint32_t flags = 0,
                 std::span<const std::byte> extensions = {}, std::uint32_t covered = 3) {
    wire::Header h = from_parent(PacketType::result);
    h.flags = wire::kFlagLast | flags;
    h.covered = covered;
    h.collective = collective;
    h.dtype = wire::DType::float32;
    h.element_count = static_cast<std::uint16_t>(values.size());
    return deliver({h, extensions, std::as_bytes(values)}, parent());
  }
  std::span<const std::byte> target(std::uint32_t rank) {
    wire::ExtensionWriter ext(room_);
    ext.add_target_rank(rank);
    return ext.bytes();
  }
  // The answer may be known above only, and of no use here; so the rank is asked for its data, too.
  void expect_the_rank_is_asked(Collective collective) {
    EXPECT_EQ(deliver(relayed(PacketType::probe, collective), below()).verdict, Verdict::forwarded);
    ASSERT_THAT(up(), SizeIs(1));
    ASSERT_THAT(sent_, SizeIs(2));
    EXPECT_EQ(sent_[0].header.type, PacketType::unknown);
    EXPECT_EQ(sent_[0].header.origin, 0u);
    EXPECT_NE(sent_[0].header.flags & wire::kFlagBypass, 0u);
    EXPECT_EQ(sent_[0].peer, below());
  }
  void expect_probes_go_up(Collective collective) {
    EXPECT_EQ(deliver(relayed(PacketType::probe, collective), below()).verdict, Verdict::forwarded);
    EXPECT_THAT(up(), SizeIs(1));
    EXPECT_THAT(sent_, SizeIs(1));
  }

 private:
  std::array<std::byte, 16> room_{};
};

constexpr std::array<float, 1> kSum = {9};

// Found by simulation: it was refused for ever, until the op's timeout.
TEST_F(UndescribedTest, T17_TheWholeResultOfAChunkKnownByAnAnnouncementAloneIsTaken) {
  announce();
  expect_probes_go_up(Collective::allreduce);
  EXPECT_EQ(whole(Collective::allreduce, kSum).verdict, Verdict::completed);
  ASSERT_THAT(to(Outgoing::To::job_group), SizeIs(1));
  EXPECT_THAT(to(Outgoing::To::job_group)[0].elements<float>(), ElementsAre(9));
  // Late data agrees with what the result said.
  EXPECT_EQ(resend(Collective::allreduce).verdict, Verdict::answered);
  EXPECT_THAT(sent_.at(0).elements<float>(), ElementsAre(9));
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(UndescribedTest, Rule10_OneThatLacksRanksOrDoesNotFitIsNotTaken) {
  announce();
  EXPECT_EQ(whole(Collective::allreduce, kSum, 0, {}, 2).reason, DropReason::op_mismatch);
  const std::array<float, 17> more{};  // than a chunk of this job has
  EXPECT_EQ(whole(Collective::allreduce, more).reason, DropReason::op_mismatch);
  EXPECT_EQ(whole(Collective::broadcast, kSum, 0, {}, 1).reason, DropReason::op_mismatch);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::escalated);
}

// Rule 7: the result for a rank elsewhere says that the chunk is done, and not what it was.
TEST_F(UndescribedTest, T17_Rule7_WhereTheHeaderAloneComesTheRanksAreAskedForTheirData) {
  announce(Collective::reduce);
  EXPECT_EQ(whole(Collective::reduce, {}, 0, target(1)).reason, DropReason::duplicate);
  expect_the_rank_is_asked(Collective::reduce);
  EXPECT_EQ(resend(Collective::reduce, target(1)).verdict, Verdict::forwarded);
  EXPECT_EQ(whole(Collective::reduce, {}, 0, target(1)).verdict, Verdict::completed);
  ASSERT_THAT(to(Outgoing::To::job_group), SizeIs(1));
  EXPECT_THAT(to(Outgoing::To::job_group)[0].payload, IsEmpty());
}

TEST_F(UndescribedTest, T17_AResultForARankHereIsTakenAndReachesIt) {
  announce(Collective::reduce);
  EXPECT_EQ(whole(Collective::reduce, kSum, 0, target(0)).verdict, Verdict::completed);
  ASSERT_THAT(sent_, SizeIs(2));
  EXPECT_EQ(sent_[0].peer, below());
  EXPECT_THAT(sent_[0].elements<float>(), ElementsAre(9));
}

// A result names no array.
TEST_F(UndescribedTest, T17_Rule7_WhatConcernsAModelIsAskedForToo) {
  announce(Collective::update);
  EXPECT_EQ(whole(Collective::update, kSum, wire::kFlagParams).reason, DropReason::duplicate);
  expect_the_rank_is_asked(Collective::update);
  EXPECT_EQ(resend(Collective::update, target(3)).verdict, Verdict::forwarded);
  expect_probes_go_up(Collective::update);
  EXPECT_EQ(whole(Collective::update, kSum, wire::kFlagParams).verdict, Verdict::completed);
  EXPECT_EQ(resend(Collective::update, target(3)).verdict, Verdict::answered);
  EXPECT_EQ(status().state, JobState::running);
}

}  // namespace
}  // namespace tributary::aggregator
