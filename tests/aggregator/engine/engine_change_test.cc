// A switch whose configuration changes while jobs run (protocol rule 16: quiesce, then a new
// epoch): messages to members, jobs that go on undisturbed, and limits of memory.
#include <gmock/gmock.h>

#include <stdexcept>

#include "config/plan/aggregation_memory.h"
#include "core/net/udp_peer.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::PacketType;
using wire::Reason;

constexpr std::uint32_t kOther = 8;  // another job

config::JobConfig other_job() {
  config::JobConfig job = test_job(1);
  job.id = kOther;
  return job;
}

template <typename Base>
class Changing : public Base {
 protected:
  // Sends what quiesce() says, as a shell does; what was replaced is gone afterwards.
  void change(const config::SwitchConfig& next) {
    const auto prepared = this->engine_->prepare(next);
    this->sent_.clear();
    this->engine_->quiesce(*prepared, *this->outbox_);
    this->collect();
    this->engine_->apply(*prepared);
    this->outbox_ = std::make_unique<Outbox>(this->engine_->outbox_capacity());
  }
  std::string refusal(const config::SwitchConfig& next) {
    try {
      static_cast<void>(this->engine_->prepare(next));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  }
  // The one worker of the other job.
  Decision other(PacketType type, std::uint32_t seq = 0) {
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    wire::Header h;
    h.type = type;
    h.job = kOther;
    h.fan_in = 1;
    const std::int32_t value = 5;
    if (type == PacketType::join) {
      ext.add_nonce(1);
    } else {
      h.epoch = other_epoch_;
      h.op = h.seq = seq;
      h.covered = 1;
      h.dtype = wire::DType::int32;
      h.element_count = 1;
      h.flags = wire::kFlagLast;
    }
    const bool data = type == PacketType::contribution;
    const auto payload = std::as_bytes(std::span(&value, 1));
    return this->deliver({h, ext.bytes(), data ? payload : std::span<const std::byte>()},
                         this->peer(0, 9000));
  }
  void run_other() {
    other(PacketType::join);
    ASSERT_THAT(this->sent_, SizeIs(1));
    other_epoch_ = this->sent_[0].header.epoch;
  }
  std::uint16_t other_epoch_ = 0;
};

class ChangeTest : public Changing<EngineTest> {};
class ChangedLeafTest : public Changing<LeafTest> {};
class ChangedRootTest : public Changing<RootTest> {};

// T22: a histogram of the whole switch that lost some would seem to begin anew.
TEST_F(ChangeTest, HoldTimesOfARemovedJobStay) {
  build(test_switch({test_job(), other_job()}));
  run_other();
  other(PacketType::contribution);
  EXPECT_EQ(engine_->slot_holds().count(), 1u);
  change(test_switch({test_job()}));
  EXPECT_EQ(engine_->job_count(), 1u);
  EXPECT_EQ(engine_->slot_holds().count(), 1u);
}

TEST_F(ChangeTest, Rule16_AJobThatChangesIsToldAndCanBeJoinedAgain) {
  build(test_switch({test_job(2)}));
  join_all();
  contribute(0, 0, {1});
  change(test_switch({test_job(3)}));
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::configuration_changed);
  EXPECT_EQ(sent_[0].header.epoch, epoch_);
  EXPECT_THAT(engine_->slot_status(now_, 10), IsEmpty());
  EXPECT_EQ(counters().aborts_change.get(), 1u);
  EXPECT_EQ(counters().contributions.get(), 1u) << "what was counted stays counted";
  const std::uint16_t before = epoch_;
  workers_ = 3;
  join_all(1);
  EXPECT_NE(epoch_, before);
  complete(0);
  EXPECT_EQ(sent_.back().elements<std::int32_t>()[0], 6);
}

// The packet that said so was lost.
TEST_F(ChangeTest, Rule16_WhoMissedTheAbortIsToldWhenItSends) {
  build(test_switch({test_job(2)}));
  join_all();
  change(test_switch({test_job(1)}));
  EXPECT_EQ(contribute(1, 0, {1}).reason, DropReason::aborted) << "rank 1 is no rank any more";
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::configuration_changed);
  workers_ = 1;
  EXPECT_EQ(join(0, 1).reason, DropReason::none);
}

// A JOIN that was on its way for long must not pass for a new incarnation.
TEST_F(ChangeTest, Rule16_ANonceThatHasHadItsEpochStaysOld) {
  build(test_switch({test_job(1)}));
  join_all();
  contribute(0, 0, {1});
  config::JobConfig job = test_job(1);
  job.lease = Duration::ms(2000);
  change(test_switch({job}));
  EXPECT_EQ(join(0).reason, DropReason::duplicate);
  join(0, 1);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::start);
}

TEST_F(ChangeTest, Rule16_AJobThatIsTheSameGoesOnWithItsOpenChunks) {
  config::SwitchConfig both = test_switch({test_job(2), other_job()});
  build(both);
  join_all();
  run_other();
  contribute(0, 0, {20});
  change(test_switch({test_job(2)}));  // the other one goes
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.job, kOther);
  EXPECT_EQ(engine_->job_count(), 1u);
  EXPECT_EQ(contribute(1, 0, {3}).verdict, Verdict::completed);
  EXPECT_EQ(sent_[0].elements<std::int32_t>()[0], 23);
  EXPECT_EQ(other(PacketType::contribution).reason, DropReason::unknown_job);
  EXPECT_EQ(sent_[0].header.reason, Reason::unknown_job);
  change(both);  // and comes again, in the memory that it gave back
  EXPECT_THAT(sent_, IsEmpty());
  run_other();
  EXPECT_EQ(other(PacketType::contribution).verdict, Verdict::completed);
  EXPECT_EQ(contribute(0, 1, {1}).verdict, Verdict::opened);
}

TEST_F(ChangeTest, WithoutReserveThereIsNoRoomForMore) {
  build(test_switch({test_job(2)}));
  EXPECT_THAT(refusal(test_switch({test_job(2), other_job()})),
              HasSubstr("room for 1 jobs; with switch.memory.reserve_megabytes for more"));
  EXPECT_THAT(refusal(test_switch({test_job(2, 8)})),
              HasSubstr("job 7 needs 16 buffers of 64 bytes in each shard, 1024 bytes; of "
                        "switch.memory.reserve_megabytes 0 of 0 bytes are free"));
  config::JobConfig two_shards = test_job(2);
  two_shards.shards = 2;
  EXPECT_THAT(refusal(test_switch({two_shards})),
              HasSubstr("has 2 shards; at start no job had more than 1"));
  config::JobConfig dynamic = test_job(2);
  dynamic.slots = config::SlotMode::dynamic;
  EXPECT_THAT(refusal(test_switch({dynamic})), HasSubstr("needs a pool of 4 slots"));
}

TEST_F(ChangeTest, InnerBracketsNeedMemoryForTheirValuesSinceTheStart) {
  const auto bracketed = [](std::uint32_t chunk_bytes) {
    config::JobConfig job = test_job(3);
    job.chunk_bytes = chunk_bytes;
    job.order = wire::Order::reproducible;
    const auto rank = [](std::uint32_t r) { return config::Bracket{{}, r}; };
    job.bracketing = config::Bracket{{config::Bracket{{rank(0), rank(1)}, 0}, rank(2)}, 0};
    config::SwitchConfig c = test_switch({job});
    c.memory.reserve_megabytes = 1;
    return c;
  };
  config::SwitchConfig plain = test_switch({test_job(3)});
  plain.memory.reserve_megabytes = 1;
  build(plain);
  EXPECT_THAT(refusal(bracketed(64)),
              HasSubstr("job 7 needs 8 buffers of 64 bytes in each shard for values of inner "
                        "brackets; since the start there are 0 of 0"));
  build(bracketed(64));
  EXPECT_THAT(refusal(bracketed(128)), HasSubstr("needs 8 buffers of 128 bytes in each shard for "
                                                 "values of inner brackets; since the start there "
                                                 "are 8 of 64"));
}

// All memory for payload is taken at start; a change moves none of it, and gives back all it took.
TEST_F(ChangeTest, TheReserveHoldsWhatComesAndGetsItBack) {
  config::SwitchConfig small = test_switch({test_job(2)});
  small.memory.reserve_megabytes = 1;
  build(small);
  EXPECT_EQ(engine_->memory_bytes(), config::aggregation_memory(small).total());
  config::SwitchConfig large = small;
  config::JobConfig big = other_job();
  big.chunk_bytes = 4096;
  big.window = 64;  // half of it
  large.jobs.push_back(big);
  const std::uint64_t before = engine_->memory_bytes();
  for (int i = 0; i < 5; ++i) {
    change(large);
    run_other();
    EXPECT_EQ(other(PacketType::contribution).verdict, Verdict::completed);
    EXPECT_GT(engine_->memory_bytes(), before) << "its tables";
    change(small);
    EXPECT_EQ(engine_->memory_bytes(), before);
  }
  config::SwitchConfig too_large = large;
  too_large.jobs[1].window = 256;
  EXPECT_THAT(refusal(too_large), HasSubstr("2097152 bytes; of switch.memory.reserve_megabytes "
                                            "1048576 of 1048576 bytes are free"));
  change(large);
  EXPECT_EQ(engine_->job_count(), 2u) << "a refusal takes nothing";
}

// Held contributions of a job whose order is declared: a child more needs more memory.
TEST_F(ChangeTest, T15_AReproducibleJobGrowsByAChildInTheReserve) {
  config::JobConfig job = test_job(2);
  job.order = wire::Order::reproducible;
  config::SwitchConfig config = test_switch({job});
  config.memory.reserve_megabytes = 1;
  build(config);
  join_all();
  int incarnation = 0;
  for (const std::uint32_t workers : {3u, 4u, 2u, 4u}) {
    config.jobs[0].workers = workers;
    change(config);
    workers_ = workers;
    join_all(++incarnation);
    for (std::uint32_t rank = workers; rank-- > 0;) contribute(rank, 0, {1 << rank});
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>()[0], (1 << workers) - 1);
  }
}

// ---- in a tree

TEST_F(ChangedLeafTest, Rule16_TheParentIsToldUntilItAnswers) {
  run_epoch();
  config::JobConfig job = leaf_job();
  job.children.push_back({false, 1, 0, "p2", {1}});
  config::SwitchConfig next = test_switch({job});
  next.id = kLeafId;
  next.ipv4 = kLeafIpv4;
  change(next);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.type, PacketType::abort);
  EXPECT_EQ(up()[0].header.reason, Reason::configuration_changed);
  EXPECT_EQ(up()[0].header.slot, kLeafId);
  expire();
  now_ = now_ + Duration::ms(20);
  expire();
  ASSERT_THAT(up(), SizeIs(1)) << "again, from the same dealings with the same parent";
  EXPECT_EQ(up()[0].header.type, PacketType::abort);
}

// Both have ended the same epoch, and each would answer the other's ABORT with its own.
TEST_F(ChangedLeafTest, Rule16_AnAbortOfWhoIsTheParentNoMoreIsNotAnswered) {
  run_epoch();
  config::JobConfig job = leaf_job();
  job.parent.reset();
  job.children.push_back({false, 1, 0, "p2", {1}});
  config::SwitchConfig next = test_switch({job});
  next.id = kLeafId;
  next.ipv4 = kLeafIpv4;
  change(next);
  EXPECT_EQ(abort_from_parent(Reason::configuration_changed, {}).verdict, Verdict::dropped);
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(ChangedLeafTest, Rule16_AnAnswerToAJoinOfTheTreeBeforeStartsNothing) {
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  config::JobConfig job = leaf_job();
  job.tree_digest = 99;
  config::SwitchConfig next = test_switch({job});
  next.id = kLeafId;
  change(next);
  EXPECT_EQ(start(500, nonce).reason, DropReason::stale_epoch);
  join_worker(0);
  join_worker(2);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_NE(join_nonce(), nonce);
  EXPECT_EQ(up()[0].header.slot, 99u);
}

TEST_F(ChangedLeafTest, Rule16_ARefusalForTheTreesSakePassesToTheWorkers) {
  join_worker(0);
  join_worker(2);
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(join_nonce());
  wire::Header h = from_parent(PacketType::nack);
  h.epoch = 0;
  h.reason = Reason::configuration_changed;
  deliver({h, ext.bytes(), {}}, parent());
  join_worker(0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::nack);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::configuration_changed);
}

// Same numbers everywhere, and yet another tree: rank 1 would be in no sum, rank 2 in two.
TEST_F(ChangedRootTest, Rule16_TwoTreesNeverMakeOneEpoch) {
  config::JobConfig job = root_job();
  job.tree_digest = 7;
  build(test_switch({job}));
  EXPECT_EQ(join_leaf().reason, DropReason::join_mismatch);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::nack);
  EXPECT_EQ(sent_.at(0).header.reason, Reason::configuration_changed);
  EXPECT_EQ(status().state, JobState::idle);
}

// The leaf has read its new tree before the root has.
TEST_F(ChangedRootTest, Rule16_AMemberThatComesWithAnotherTreeHasLeftTheEpoch) {
  run_epoch();
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(2);
  wire::Header h = from_leaf(PacketType::join);
  h.slot = 99;
  deliver({h, ext.bytes(), {}}, leaf());
  ASSERT_THAT(sent_, SizeIs(2));
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::configuration_changed);
  EXPECT_EQ(sent_[0].header.slot, kLeafId);
  EXPECT_EQ(sent_[1].header.type, PacketType::nack);
  EXPECT_EQ(status().state, JobState::aborted);
}

// Rule 16, T1: a port that goes ends the epochs of members behind it, and names them; jobs without
// members there go on.
TEST_F(ChangeTest, APortThatGoesEndsEpochsWithMembersThere) {
  build(3);
  join_all();
  sent_.clear();
  engine_->end_behind(9, *outbox_);
  collect();
  EXPECT_THAT(sent_, IsEmpty());
  engine_->end_behind(1, *outbox_);
  collect();
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::configuration_changed);
  std::array<std::uint32_t, 8> missing;
  ASSERT_EQ(wire::find_missing_ids(sent_[0].extensions, missing), 1u);
  EXPECT_EQ(missing[0], 1u);
  EXPECT_EQ(engine_->counters(0).aborts_change.get(), 1u);
}

// No rank has to wait for the lease of one that has only asked.
TEST_F(ChangeTest, WhoHasAskedThroughAPortThatGoesMayAskElsewhere) {
  build(3);
  join(0);
  join(1);
  engine_->end_behind(1, *outbox_);
  collect();
  join(2);
  EXPECT_EQ(sent_[0].header.type, PacketType::pending);
  wire::UdpPeer elsewhere = peer(1);
  elsewhere.port = 2;
  join(1, 1, elsewhere);
  ASSERT_THAT(sent_, SizeIs(3));
  EXPECT_EQ(sent_[0].header.type, PacketType::start);
}

// When the peer of a port is gone, the ranks behind it are lost before their leases end (O1).
TEST_F(ChangeTest, O1_RanksBehindAPeerThatIsGoneHaveNoLease) {
  build(3);
  join_all();
  sent_.clear();
  engine_->lose_behind(9, Duration::seconds(1), *outbox_);
  collect();
  EXPECT_THAT(sent_, IsEmpty());
  engine_->lose_behind(1, Duration::seconds(1), *outbox_);
  collect();
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.type, PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, Reason::lease_expired);
  EXPECT_THAT(sent_[0].missing(), testing::ElementsAre(1));
  EXPECT_EQ(engine_->counters(0).aborts_lease.get(), 1u);
  join_all(1);
}

// A replayed capture renews no lease, and joins in one run and contributes in the next.
TEST_F(ChangeTest, O1_AJobWithALongLeaseWaitsATenthOfItForAPeerThatIsGone) {
  config::SwitchConfig config = test_switch({test_job(3)});
  config.jobs[0].lease = Duration::seconds(3600);
  build(config);
  join_all();
  sent_.clear();
  engine_->lose_behind(1, Duration::seconds(359), *outbox_);
  collect();
  EXPECT_THAT(sent_, IsEmpty());
  engine_->lose_behind(1, Duration::seconds(360), *outbox_);
  collect();
  EXPECT_THAT(sent_, SizeIs(1));
}

}  // namespace
}  // namespace tributary::aggregator
