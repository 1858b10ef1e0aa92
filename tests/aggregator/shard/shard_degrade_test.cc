// Rule 21: results that lack ranks are taken from the completion host, or the switch above, and
// from no other sender; they are kept, sent and asked for with the list of missing ranks.
#include "core/net/udp_peer.h"
#include "core/wire/attempt.h"
#include "core/wire/degraded.h"
#include "core/wire/rank_bitmap.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

void allow(config::JobConfig& job) {
  job.on_deadline = config::OnDeadline::escalate;
  job.stragglers.degraded_after = Duration::ms(500);
}

struct List {
  std::array<std::byte, 64> room{};
  std::span<const std::byte> area;
  List(std::uint32_t counted, std::uint64_t missing) {
    wire::ExtensionWriter writer(room);
    EXPECT_TRUE(wire::add_degraded_list(writer, counted, std::span(&missing, 1)));
    area = writer.bytes();
  }
};

// The header of data as that of a result.
wire::Header as_result(wire::Header h, std::uint32_t covered,
                       std::uint32_t flags = wire::kFlagDegraded) {
  h.type = PacketType::result;
  h.covered = covered;
  h.flags = flags;
  return h;
}

// The ranks that a sent result lacks; 0: none.
std::uint64_t missing_in(const Sent& sent, std::uint32_t workers) {
  EXPECT_EQ(sent.header.type, PacketType::result);
  std::uint64_t missing = 0;
  const auto counted = wire::read_degraded_list(sent.extensions, workers, std::span(&missing, 1));
  EXPECT_EQ(counted.has_value(), (sent.header.flags & wire::kFlagDegraded) != 0);
  if (!counted) return 0;
  EXPECT_EQ(*counted, sent.header.covered);
  return missing;
}

class RootDegradeTest : public EngineTest {
 protected:
  void SetUp() override {
    config::JobConfig job = test_job(3);
    allow(job);
    build(test_switch({job}));
    join_all();
  }
  // Ranks 0 and 2 are in time, the deadline has passed.
  void escalate(std::uint32_t seq = 0) {
    contribute(0, seq, {1});
    contribute(2, seq, {4});
    now_ = now_ + Duration::ms(500);
    expire();
  }
  bool host_result(std::uint32_t seq, std::uint32_t counted, std::uint64_t missing,
                   std::uint32_t flags = wire::kFlagDegraded, std::uint32_t covered = 2) {
    const wire::Header h = as_result(data_header(0, seq, 1), covered, flags);
    const std::int32_t value = 5;
    const List list(counted, missing);
    sent_.clear();
    const bool taken = engine_->on_host_packet({h, list.area, std::as_bytes(std::span(&value, 1))},
                                               now_, *outbox_);
    collect();
    return taken;
  }
};

TEST_F(RootDegradeTest, Rule21_TheHostsResultGoesToAllWithTheList) {
  escalate();
  ASSERT_TRUE(host_result(0, 2, 0b010));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(missing_in(sent_[0], 3), 0b010u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{5});
  EXPECT_EQ(counters().degraded.get(), 1u);
  probe(0, 0);
  EXPECT_EQ(missing_in(sent_.at(0), 3), 0b010u) << "who has lost it gets the same";
}

TEST_F(RootDegradeTest, Rule21_TheLateRankGetsTheSameAndIsNotFolded) {
  escalate();
  host_result(0, 2, 0b010);
  EXPECT_EQ(contribute(1, 0, {100}).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::peer);
  EXPECT_EQ(sent_[0].peer, peer(1));
  EXPECT_EQ(missing_in(sent_[0], 3), 0b010u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{5});
  EXPECT_EQ(counters().late.get(), 1u);
  EXPECT_EQ(contribute(0, 0, {1}).reason, DropReason::duplicate);
}

// Rule 4: until all have it; the next result in its place has every rank again.
TEST_F(RootDegradeTest, Rule4_TheListIsKeptAsLongAsTheResult) {
  escalate(0);
  host_result(0, 2, 0b010);
  for (std::uint32_t seq = 1; seq < 8; ++seq) {
    complete(seq);
    for (std::uint32_t rank = 0; rank < 3; ++rank) acknowledge(rank, seq + 1);
  }
  complete(8);
  EXPECT_EQ(missing_in(sent_.at(0), 3), 0u);
}

TEST_F(RootDegradeTest, Rule21_AListThatContradictsItselfOrTheHeaderIsRefused) {
  escalate();
  EXPECT_FALSE(host_result(0, 1, 0b010)) << "two are neither counted nor missing";
  EXPECT_FALSE(host_result(0, 2, 0b1000)) << "not of this job";
  EXPECT_FALSE(host_result(0, 2, 0b010, wire::kFlagDegraded, 3)) << "the header counts three";
  EXPECT_FALSE(host_result(0, 2, 0b010, 0, 2)) << "not said to be degraded";
  EXPECT_TRUE(host_result(0, 2, 0b010));
}

TEST_F(RootDegradeTest, Rule21_NobodyElseCanMakeOne) {
  escalate();
  const wire::Header h = as_result(data_header(0, 0, 1), 2);
  const std::int32_t value = 5;
  const List list(2, 0b010);
  EXPECT_EQ(deliver({h, list.area, std::as_bytes(std::span(&value, 1))}, peer(0)).reason,
            DropReason::bad_type);
  EXPECT_EQ(sent_.size(), 0u);
  EXPECT_EQ(contribute(1, 0, {1}, wire::kFlagDegraded).verdict, Verdict::forwarded);
}

TEST_F(RootDegradeTest, Rule21_OnlyWhereTheJobAllowsIt) {
  config::JobConfig job = test_job(3);
  job.on_deadline = config::OnDeadline::escalate;
  build(test_switch({job}));
  join_all();
  escalate();
  EXPECT_FALSE(host_result(0, 2, 0b010));
}

TEST_F(RootDegradeTest, Rule21_StartSaysThatResultsMayLackRanks) {
  config::JobConfig job = test_job(3);
  build(test_switch({job}));
  join_all();
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagDegraded, 0u);
  allow(job);
  build(test_switch({job}));
  join_all();
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagDegraded, wire::kFlagDegraded);
}

TEST_F(RootDegradeTest, Rule21_ShowOpSaysWhoWasLeftOut) {
  escalate();
  host_result(0, 2, 0b010);
  for (const OpLine& line : engine_->op_lines(kJob, 0, now_))
    if (line.what == "result without these ranks") {
      EXPECT_EQ(line.ranks, std::vector<std::uint32_t>{1});
      return;
    }
  ADD_FAILURE() << "no such line";
}

class LeafDegradeTest : public LeafTest {
 protected:
  void SetUp() override {
    config::JobConfig job = leaf_job();
    allow(job);
    build_leaf(job);
    join_worker(0);
    join_worker(2);
    const std::uint64_t nonce = join_nonce();
    epoch_ = 500;
    ASSERT_EQ(start_degrading(nonce).verdict, Verdict::answered);
  }
  Decision start_degrading(std::uint64_t nonce, std::uint32_t flags = wire::kFlagDegraded) {
    std::array<std::byte, 128> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(nonce);
    ext.add(start_info_);
    wire::Header h = from_parent(PacketType::start);
    h.flags = flags;
    h.child = 1;
    h.fan_in = 2;
    return deliver({h, ext.bytes(), {}}, parent());
  }
  Decision degraded(std::uint32_t seq, std::uint64_t missing = 0b101, std::uint32_t counted = 1) {
    wire::Header h = from_parent(PacketType::result, seq);
    h.covered = counted;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast | wire::kFlagDegraded;
    const std::int32_t value = 9;
    const List list(counted, missing);
    return deliver({h, list.area, std::as_bytes(std::span(&value, 1))}, parent());
  }
  void expect_the_late_get_it(std::uint32_t rank, std::uint64_t missing) {
    EXPECT_EQ(contribute_worker(rank, 0, 70).verdict, Verdict::answered);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(missing_in(sent_[0], 3), missing);
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{9});
  }
};

// No child below has sent anything yet.
TEST_F(LeafDegradeTest, Rule21_IsTakenOfAChunkThatNobodyHereHasBegun) {
  EXPECT_EQ(degraded(0).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(missing_in(sent_[0], 3), 0b101u);
  expect_the_late_get_it(0, 0b101);
  expect_the_late_get_it(2, 0b101);
  EXPECT_EQ(counters().slots_open.get(), 0u);
}

TEST_F(LeafDegradeTest, Rule21_IsTakenWhileTheLateAreBeingSummed) {
  EXPECT_EQ(contribute_worker(0, 0, 70).verdict, Verdict::opened);
  EXPECT_EQ(degraded(0).verdict, Verdict::completed);
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_TRUE(up().empty()) << "what was summed goes nowhere";
  expect_the_late_get_it(2, 0b101);
}

// The sum that is being made in its buffer is not made yet.
TEST_F(LeafDegradeTest, Rule21_WhatABurstHasNotSummedYetIsNotAddedToIt) {
  wire::Header h = from_worker(PacketType::contribution, 0);
  h.covered = 1;
  h.dtype = wire::DType::int32;
  h.element_count = 1;
  h.flags = wire::kFlagLast;
  const std::int32_t value = 70;
  engine_->begin_burst();
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(&value, 1))}, place(0)).verdict,
            Verdict::opened);
  EXPECT_EQ(degraded(0).verdict, Verdict::completed);
  engine_->end_burst();
  expect_the_late_get_it(2, 0b101);
}

TEST_F(LeafDegradeTest, Rule21_IsTakenForASumThatCameTooLate) {
  contribute_worker(0, 0, 70);
  EXPECT_EQ(contribute_worker(2, 0, 70).verdict, Verdict::sent_up);
  EXPECT_EQ(degraded(0).verdict, Verdict::completed);
  EXPECT_EQ(missing_in(sent_.at(0), 3), 0b101u);
  EXPECT_EQ(degraded(0).reason, DropReason::duplicate);
}

// Otherwise the ranks elsewhere would get ahead of rank 2 by more than there is room for here, and
// be finished without rank 0, whose data found none.
TEST_F(LeafDegradeTest, Rule21_WhatALateRankDoesNotHoldIsNotAcknowledged) {
  wire::Header ack = from_worker(PacketType::ack, 0);
  for (std::uint32_t seq = 0; seq < 4; ++seq) {
    contribute_worker(0, seq, 7);
    EXPECT_EQ(degraded(seq, 0b100, 2).verdict, Verdict::completed);
  }
  ack.seq = 4;
  deliver(ack, place(0));
  EXPECT_TRUE(up().empty()) << "rank 2 holds nothing";
  for (std::uint32_t seq = 0; seq < 4; ++seq)
    EXPECT_EQ(contribute_worker(2, seq, 8).verdict, Verdict::answered);
  ack = from_worker(PacketType::ack, 2);
  ack.seq = 3;
  deliver(ack, place(2));
  ASSERT_EQ(up().size(), 1u);
  EXPECT_EQ(up()[0].header.type, PacketType::ack);
  EXPECT_EQ(up()[0].header.seq, 3u);
}

TEST_F(LeafDegradeTest, Rule21_ItsListIsCheckedHereToo) {
  EXPECT_EQ(degraded(0, 0b1000, 2).reason, DropReason::op_mismatch);
  EXPECT_EQ(degraded(0, 0b101, 2).reason, DropReason::op_mismatch);
  EXPECT_EQ(degraded(0, 0b101, 1).verdict, Verdict::completed);
}

// All ranks below are late, and have not heard that the others sent floats.
TEST_F(LeafDegradeTest, Rule12_BringsTheSecondAttemptToThoseWhoMissedIt) {
  wire::Header h = from_parent(PacketType::result, 0);
  h.covered = 1;
  h.dtype = wire::DType::float32;
  h.element_count = 1;
  h.attempt = wire::kFloatRetry;
  h.flags = wire::kFlagLast | wire::kFlagDegraded | wire::kFlagFloatRetry;
  const float value = 9;
  const List list(1, 0b101);
  EXPECT_EQ(deliver({h, list.area, std::as_bytes(std::span(&value, 1))}, parent()).verdict,
            Verdict::completed);
  wire::Header late = from_worker(PacketType::contribution, 0);
  late.covered = 1;
  late.dtype = wire::DType::int32;
  late.encoding = wire::Encoding::block_scaled;
  late.element_count = 1;
  late.flags = wire::kFlagLast;
  const std::int32_t number = 3;
  EXPECT_EQ(deliver({late, {}, std::as_bytes(std::span(&number, 1))}, place(0)).verdict,
            Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.attempt, wire::kFloatRetry);
}

TEST_F(LeafDegradeTest, Rule21_TwoLevelsThatDisagreeAboutItFormNoEpoch) {
  config::JobConfig job = leaf_job();
  allow(job);
  build_leaf(job);
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  EXPECT_EQ(start_degrading(nonce, 0).verdict, Verdict::answered);
  EXPECT_EQ(up().at(0).header.type, PacketType::abort);
  EXPECT_EQ(up().at(0).header.reason, wire::Reason::settings_mismatch);
}

// Between the two: switch 300 with rank 0 below it, and rank 2.
class MiddleDegradeTest : public LeafDegradeTest {
 protected:
  static constexpr std::uint32_t kBelow = 300;
  static constexpr std::uint32_t kBelowIpv4 = 0x0A4D00C8;
  static wire::UdpPeer below() { return {0, 47000, kBelowIpv4, std::nullopt, {2, 8}}; }
  void SetUp() override {
    config::JobConfig job = leaf_job();
    job.children[0] = {true, kBelow, kBelowIpv4, "p0", {0}};
    allow(job);
    build_leaf(job);
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(1);
    wire::Header h = from_below(PacketType::join);
    h.epoch = 0;
    h.flags = wire::kFlagCompleteSubtree;
    h.covered = 1;
    deliver({h, ext.bytes(), {}}, below());
    join_worker(2);
    const std::uint64_t nonce = join_nonce();
    epoch_ = 500;
    ASSERT_EQ(start_degrading(nonce).verdict, Verdict::answered);
  }
  wire::Header from_below(PacketType type) const {
    wire::Header h = from_worker(type, 0);
    h.origin = kBelow;
    return h;
  }
};

// The switch below has lost a sum, and asks its rank for its data again, which is late.
TEST_F(MiddleDegradeTest, Rule21_IsTakenOfAChunkKnownByAnAnnouncementAlone) {
  EXPECT_EQ(deliver(from_below(PacketType::escalation), below()).verdict, Verdict::forwarded);
  EXPECT_EQ(degraded(0).verdict, Verdict::completed);
  EXPECT_EQ(missing_in(sent_.at(0), 3), 0b101u);
  expect_the_late_get_it(2, 0b101);
  EXPECT_EQ(deliver(from_below(PacketType::escalation), below()).verdict, Verdict::answered);
  EXPECT_EQ(missing_in(sent_.at(0), 3), 0b101u);
}

class RootRelayDegradeTest : public RootTest {
 protected:
  void SetUp() override {
    config::JobConfig job = root_job();
    allow(job);
    build(test_switch({job}));
    run_epoch();
  }
};

// A sum, and what a leaf could not finish, that come after the decision.
TEST_F(RootRelayDegradeTest, Rule21_ALateSubtreeIsAnswered) {
  contribution(0, 4);
  now_ = now_ + Duration::ms(500);
  expire();
  const wire::Header h = as_result(data_header(0, 0, 1), 1);
  const std::int32_t value = 4;
  const List list(1, 0b101);
  sent_.clear();
  ASSERT_TRUE(
      engine_->on_host_packet({h, list.area, std::as_bytes(std::span(&value, 1))}, now_, *outbox_));
  collect();
  EXPECT_EQ(aggregate(sum_header(0), 50).verdict, Verdict::answered);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].peer, leaf());
  EXPECT_EQ(missing_in(sent_[0], 3), 0b101u);
  wire::Header mark = from_leaf(PacketType::escalation);
  EXPECT_EQ(deliver(mark, leaf()).verdict, Verdict::answered);
  EXPECT_EQ(missing_in(sent_.at(0), 3), 0b101u);
  EXPECT_EQ(counters().late.get(), 2u);
}

}  // namespace
}  // namespace tributary::aggregator
