// Who gets which result: the collectives (C3), and results asked for again (C4, rule 4).
#include "aggregator/contribution.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

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

// Who only receives says nothing that would acknowledge; nothing that somebody lacks may be
// overwritten, however fast the root is.
TEST_F(ReplyTest, BroadcastWaitsForTheSlowestReceiver) {
  build(2, 2);
  join_all();
  for (std::int32_t s = 0; s < 4; ++s)
    EXPECT_EQ(give(0, static_cast<std::uint32_t>(s), s, Collective::broadcast).verdict,
              Verdict::completed);
  EXPECT_EQ(give(0, 4, 4, Collective::broadcast).reason, DropReason::beyond_window);
  ask(0, 4, Collective::broadcast, true);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
  ask(1, 4, Collective::broadcast);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  ask(1, 0, Collective::broadcast);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{0});
  acknowledge(1, 1);  // the root's own sends have said that it holds 0 and 1
  EXPECT_EQ(give(0, 4, 4, Collective::broadcast).verdict, Verdict::completed);
}

// The same is true of a probe, when the data itself was lost; and where others are still awaited,
// who probes is told to send again. Otherwise all ranks could wait for one another for ever.
TEST_F(ReplyTest, ProbingAcknowledgesTheResultThatIsInTheWay) {
  build(3, 1);
  join_all();
  complete(0);
  EXPECT_EQ(give(0, 1, 1, Collective::broadcast).verdict, Verdict::completed);
  EXPECT_EQ(give(1, 2, 7, Collective::allreduce).reason, DropReason::beyond_window);
  ask(1, 2, Collective::allreduce);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
  ask(2, 2, Collective::allreduce);
  EXPECT_EQ(give(1, 2, 7, Collective::allreduce).verdict, Verdict::opened);
  EXPECT_EQ(give(2, 2, 7, Collective::allreduce).verdict, Verdict::folded);
  EXPECT_EQ(give(0, 2, 7, Collective::allreduce).verdict, Verdict::completed);
}

// C4: a result that all have acknowledged is still there by its name, as long as there is room.
TEST_F(ReplyTest, AcknowledgedResultsStayInTheCache) {
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

TEST_F(ReplyTest, CacheIsBoundedAndTheOldestGoes) {
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

}  // namespace
}  // namespace tributary::aggregator
