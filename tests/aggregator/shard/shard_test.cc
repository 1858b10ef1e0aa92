// A shard on its own: handed to another owner in the middle of an op, and what it leaves to the
// engine to decide (protocol rule 16).
#include "aggregator/shard/shard.h"

#include "core/net/udp_peer.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

class ShardTest : public EngineTest {
 protected:
  void build_two_shards() {
    config::JobConfig job = test_job(2);
    job.shards = 2;
    build(test_switch({job}));
    join_all();
  }
  wire::Packet packet(std::uint32_t rank, std::uint32_t seq, std::uint8_t shard) {
    wire::Header h = data_header(rank, seq, 1);
    h.shard = shard;
    return {h, {}, std::as_bytes(std::span(&value_, 1))};
  }
  std::int32_t value_ = 21;
};

// Rule 16: a chunk that was opened under one owner is finished under another, deadline included,
// while the engine goes on with its other shards.
TEST_F(ShardTest, IsHandedOverInTheMiddleOfAnOp) {
  build_two_shards();
  deliver(packet(0, 0, 1), peer(0));
  deliver(packet(0, 1, 1), peer(0));
  const std::shared_ptr<Shard> shard = engine_->hand_over(1);

  Outbox out(16);
  EXPECT_EQ(shard->on_packet(packet(1, 0, 1), peer(1), now_, out).verdict, Verdict::completed);
  ASSERT_EQ(out.items().size(), 1u);
  std::int32_t sum = 0;
  std::memcpy(&sum, out.items()[0].payload.data(), sizeof sum);
  EXPECT_EQ(sum, 42);
  EXPECT_FALSE(shard->expire(now_ + Duration::ms(499), out));
  EXPECT_TRUE(shard->expire(now_ + Duration::ms(500), out));
  EXPECT_EQ(shard->abort_request().chunk.seq, 1u);
  EXPECT_EQ(shard->abort_request().missing, std::vector<std::uint32_t>{1});

  EXPECT_EQ(deliver(packet(0, 0, 0), peer(0)).verdict, Verdict::opened);
}

TEST_F(ShardTest, ComesBackWithAllThatHappenedMeanwhile) {
  build_two_shards();
  const std::shared_ptr<Shard> shard = engine_->hand_over(1);
  Outbox out(16);
  shard->on_packet(packet(0, 0, 1), peer(0), now_, out);
  engine_->take_back(shard, *outbox_);
  EXPECT_EQ(deliver(packet(1, 0, 1), peer(1)).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{42});
  EXPECT_EQ(counters().contributions.get(), 2u);
  EXPECT_EQ(engine_->shard_counters(0, 0)->contributions.get(), 0u);
  EXPECT_EQ(engine_->shard_counters(0, 1)->contributions.get(), 2u);
  EXPECT_EQ(engine_->shard_counters(0, 2), nullptr);
}

// Nothing of the engine's needs a shard that is away.
class AwayTest : public ShardTest {
 protected:
  void SetUp() override { build_two_shards(); }
  Decision give(std::uint32_t rank, std::uint32_t seq, std::uint8_t shard) {
    return deliver(packet(rank, seq, shard), peer(rank));
  }
  Decision give(Shard& away, std::uint32_t rank, std::uint32_t seq) {
    Outbox out(16);
    return away.on_packet(packet(rank, seq, 1), peer(rank), now_, out);
  }
  void take_back(const std::shared_ptr<Shard>& shard) {
    sent_.clear();
    engine_->take_back(shard, *outbox_);
    collect();
  }
  [[nodiscard]] std::uint64_t open_slots() const {
    return engine_->shard_counters(0, 1)->slots_open.get();
  }
};

TEST_F(AwayTest, Rule16_WhatComesHereForItIsDroppedAndItsMembersLive) {
  const auto shard = engine_->hand_over(1);
  EXPECT_EQ(engine_->hand_over(1), nullptr) << "it is away";
  EXPECT_EQ(engine_->hand_over(9), nullptr) << "there is none";
  now_ = now_ + Duration::ms(900);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    engine_->prefetch_entry(packet(rank, 0, 1).header);
    engine_->prefetch_data(packet(rank, 0, 1), Payloads::untouched);
    EXPECT_EQ(give(rank, 0, 1).reason, DropReason::bad_shard);
  }
  EXPECT_FALSE(engine_->look(packet(0, 0, 1).header).known);
  EXPECT_EQ(engine_->chunk_state(0, 1, 0), ChunkState::unseen);
  now_ = now_ + Duration::ms(999);
  expire();
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(AwayTest, Rule16_ItsFiguresAreReadAsEver) {
  const std::uint64_t bytes = engine_->memory_bytes();
  const auto shard = engine_->hand_over(1);
  give(*shard, 0, 0);
  give(*shard, 1, 0);
  give(*shard, 0, 1);
  EXPECT_EQ(counters().contributions.get(), 3u);
  EXPECT_EQ(engine_->shard_counters(0, 1)->completions.get(), 1u);
  EXPECT_EQ(engine_->slot_holds().count(), 1u);
  EXPECT_EQ(engine_->memory_bytes(), bytes);
  EXPECT_GT(engine_->child_totals(0, 0).timed_arrivals.get(), 0u);
  EXPECT_TRUE(engine_->slot_status(now_, 10).empty()) << "its slots are not this thread's to read";
  EXPECT_EQ(engine_->op_lines(kJob, 0, now_).size(), 0u);
  EXPECT_EQ(engine_->lateness(kJob, now_).size(), 0u);
  EXPECT_EQ(engine_->stragglers(now_).size(), 2u);
  take_back(shard);
  EXPECT_EQ(counters().contributions.get(), 3u);
  EXPECT_EQ(engine_->slot_status(now_, 10).size(), 1u);
}

// With none at all here, too.
TEST_F(AwayTest, Rule16_MembersThatOnlyItHearsKeepTheirLease) {
  const std::array shards{engine_->hand_over(0), engine_->hand_over(1)};
  for (std::uint32_t seq = 0; seq < 4; ++seq) {
    now_ = now_ + Duration::ms(600);
    give(*shards[1], 0, seq);
    give(*shards[1], 1, seq);
    expire();
    ASSERT_EQ(status().state, JobState::running);
    EXPECT_EQ(status().members.at(1).silent_for, Duration());
  }
  EXPECT_TRUE(engine_->exclusions(0).at(0).never());
  for (const auto& shard : shards) take_back(shard);
  EXPECT_EQ(give(0, 0, 0).verdict, Verdict::opened);
}

TEST_F(AwayTest, Rule16_AnEpochWhoseLeaseEndsIsOverForItWhenItIsBack) {
  const auto shard = engine_->hand_over(1);
  give(*shard, 0, 0);
  EXPECT_EQ(open_slots(), 1u);
  now_ = now_ + Duration::ms(1000);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::lease_expired);
  expire();
  EXPECT_EQ(open_slots(), 1u);
  take_back(shard);
  EXPECT_EQ(open_slots(), 0u);
  EXPECT_EQ(give(1, 0, 1).reason, DropReason::aborted);
  join_all(1);
  EXPECT_EQ(give(1, 0, 1).verdict, Verdict::opened);
}

// It would have to be told where members are and where seqs begin, between two of its packets.
TEST_F(AwayTest, Rule16_NoEpochBeginsUntilItIsBack) {
  const auto shard = engine_->hand_over(1);
  give(*shard, 0, 0);
  EXPECT_EQ(join(0, 1).verdict, Verdict::epoch_aborted);
  for (int again = 0; again < 2; ++again) {
    join(1, 1);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.type, PacketType::pending);
    EXPECT_TRUE(sent_[0].missing().empty()) << "it is no rank that is waited for";
  }
  take_back(shard);
  join(1, 1);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.type, PacketType::start);
  epoch_ = sent_[0].header.epoch;
  EXPECT_EQ(give(1, 0, 1).verdict, Verdict::opened);
}

TEST_F(AwayTest, Rule16_ItLearnsWhoHasLeft) {
  const auto shard = engine_->hand_over(1);
  give(*shard, 0, 0);
  give(*shard, 1, 0);
  EXPECT_EQ(leave(1).verdict, Verdict::answered);
  EXPECT_EQ(shard->find_job(0)->table.present(), 2u);
  take_back(shard);
  EXPECT_EQ(shard->find_job(0)->table.present(), 1u);
  EXPECT_EQ(status().state, JobState::running) << "nothing lacks its data";
  leave(0);
  EXPECT_EQ(status().state, JobState::idle);
}

TEST_F(AwayTest, Rule16_IfItLacksDataOfWhoHasLeftTheEpochEnds) {
  const auto shard = engine_->hand_over(1);
  give(*shard, 0, 0);
  EXPECT_EQ(leave(1).verdict, Verdict::answered);
  take_back(shard);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::rank_left);
  EXPECT_EQ(sent_[0].missing(), std::vector<std::uint32_t>{1});
  EXPECT_EQ(open_slots(), 0u);
}

TEST_F(AwayTest, Rule16_AllHaveLeft) {
  const auto shard = engine_->hand_over(1);
  give(*shard, 0, 0);
  leave(0);
  leave(1);
  take_back(shard);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(open_slots(), 0u);
}

TEST_F(AwayTest, Rule16_ItLearnsWhereAMemberIsBoundNow) {
  const auto shard = engine_->hand_over(1);
  wire::UdpPeer moved = peer(1);
  moved.mac.back() = 99;
  join(1, 0, moved);
  ASSERT_EQ(sent_.at(0).header.type, PacketType::start);
  take_back(shard);
  EXPECT_EQ(deliver(packet(1, 0, 1), moved).verdict, Verdict::opened);
}

// What it asks an end for under its other owner, it asks again here.
TEST_F(AwayTest, Rule16_ADeadlineThatHasPassedEndsTheEpochWhenItIsBack) {
  const auto shard = engine_->hand_over(1);
  give(*shard, 0, 0);
  now_ = now_ + Duration::ms(500);
  Outbox out(16);
  EXPECT_TRUE(shard->expire(now_, out));
  expire();
  EXPECT_EQ(status().state, JobState::running);
  take_back(shard);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::deadline);
  EXPECT_EQ(sent_[0].header.shard, 1);
}

TEST_F(AwayTest, Rule16_NoOpIsSettledAndNoJobIsChangedWithoutIt) {
  const auto shard = engine_->hand_over(1);
  EXPECT_EQ(engine_->exclude(kJob, 0, true, {}, *outbox_).refusal, Ruling::Refusal::shard_away);
  EXPECT_THROW((void)engine_->prepare(test_switch({test_job(2)})), std::invalid_argument);
  take_back(shard);
  EXPECT_EQ(engine_->exclude(kJob, 0, true, {}, *outbox_).refusal, Ruling::Refusal::none);
  const auto change = engine_->prepare(test_switch({test_job(2)}));
  const auto again = engine_->hand_over(0);
  EXPECT_THROW(engine_->quiesce(*change, *outbox_), std::logic_error);
  EXPECT_THROW(engine_->apply(*change), std::logic_error);
  EXPECT_THROW(engine_->take_back(nullptr, *outbox_), std::invalid_argument);
  EXPECT_THROW(engine_->take_back(
                   std::make_shared<Shard>(test_switch({}), 0, std::span<std::byte>()), *outbox_),
               std::invalid_argument);
}

// Another job's shard may be with another owner.
TEST_F(EngineTest, Rule16_AJobWithoutAPartInTheShardThatIsAwayBeginsItsEpoch) {
  config::JobConfig wide = test_job(2);
  wide.id = kJob + 1;
  wide.shards = 2;
  build(test_switch({test_job(2), wide}));
  const auto shard = engine_->hand_over(1);
  ASSERT_NE(shard, nullptr);
  join_all();
  EXPECT_EQ(status().state, JobState::running);
  complete(0);
  engine_->take_back(shard, *outbox_);
  complete(1);
}

// What its completion host says is its owner's to hear, and who that is it learns later.
TEST_F(AwayTest, Rule16_ItsCompletionHostWaitsForIt) {
  engine_->set_completion_host(kJob, 1, 0, 1);
  complete(0);
  for (std::uint32_t rank = 0; rank < 2; ++rank) give(rank, 0, 1);
  const auto shard = engine_->hand_over(1);
  EXPECT_EQ(engine_->accepted_before(kJob, 1), 1u);
  EXPECT_EQ(engine_->announce_again(kJob, 1, 1, *outbox_), 1u) << "later";
  EXPECT_TRUE(engine_->waits_for_host(kJob, 1)) << "it may";
  wire::Header h = data_header(0, 1, 1);
  h.shard = 1;
  for (const auto type : {PacketType::result, PacketType::abort}) {
    h.type = type;
    EXPECT_FALSE(engine_->on_host_packet({h, {}, {}}, now_, *outbox_));
  }
  h.type = PacketType::unknown;
  h.attempt = 1;
  EXPECT_FALSE(engine_->on_host_packet({h, {}, {}}, now_, *outbox_));
  engine_->on_sum_taken(h, now_);
  engine_->set_completion_host(kJob, 1, 0, 5);
  EXPECT_EQ(shard->find_job(0)->host_term, 1u);
  take_back(shard);
  EXPECT_EQ(shard->find_job(0)->host_term, 5u);
  EXPECT_FALSE(engine_->waits_for_host(kJob, 1));
}

TEST_F(ShardTest, LeavesStrangersToTheEngine) {
  build_two_shards();
  const std::shared_ptr<Shard> shard = engine_->hand_over(0);
  Outbox out(16);
  wire::Packet p = packet(0, 0, 0);
  EXPECT_EQ(shard->on_packet(p, peer(1), now_, out).verdict, Verdict::refused);
  p.header.epoch = 7;
  EXPECT_EQ(shard->on_packet(p, peer(0), now_, out).verdict, Verdict::refused);
  p.header.job = 99;
  EXPECT_EQ(shard->on_packet(p, peer(0), now_, out).verdict, Verdict::refused);
  EXPECT_TRUE(out.items().empty());
}

}  // namespace
}  // namespace tributary::aggregator
