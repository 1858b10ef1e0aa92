// Children that are left out of sums (T13, rule 14): the switch does not wait for them, their data
// goes to the completion host unsummed, and messages up say whose data they have.
#include <gmock/gmock.h>

#include "core/wire/rank_bitmap.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using ::testing::ElementsAre;
using wire::PacketType;
using wire::Reason;
using Refusal = Ruling::Refusal;

constexpr std::uint32_t kOwnFlags = wire::kFlagBypass | wire::kFlagExcluded;

class ExcludeTest : public EngineTest {
 protected:
  void build_with(void (*change)(config::JobConfig&), std::uint32_t workers = 3) {
    config::JobConfig job = test_job(workers);
    change(job);
    build(test_switch({job}));
    join_all();
  }
  void build_plain() {
    build_with([](config::JobConfig&) {});
  }
  Ruling rule(std::uint32_t child, bool out, std::optional<std::uint32_t> from = {}) {
    sent_.clear();
    const Ruling ruling = engine_->exclude(kJob, child, out, from, *outbox_);
    collect();
    return ruling;
  }
  [[nodiscard]] std::uint64_t covered_by(const Sent& sent) const {
    std::array<std::uint64_t, 1> ranks{};
    EXPECT_TRUE(wire::read_rank_bitmaps(sent.extensions, workers_, ranks));
    return ranks[0];
  }
  [[nodiscard]] std::uint64_t escalated(Reason reason) const {
    return counters().escalations[static_cast<std::size_t>(reason)].get();
  }
  bool host_result(std::uint32_t seq, std::int32_t value) {
    wire::Header h = data_header(0, seq, 1);
    h.type = PacketType::result;
    h.covered = workers_;
    sent_.clear();
    const bool accepted =
        engine_->on_host_packet({h, {}, std::as_bytes(std::span(&value, 1))}, now_, *outbox_);
    collect();
    return accepted;
  }
};

// T13: the others' sum goes on when they are here; its coverage says who is not in it. No deadline
// has passed, and no slot is held.
TEST_F(ExcludeTest, T13NobodyWaitsForAnExcludedChild) {
  build_plain();
  EXPECT_EQ(rule(1, true).refusal, Refusal::none);
  contribute(0, 0, {1});
  EXPECT_EQ(contribute(2, 0, {4}).verdict, Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.reason, Reason::excluded);
  EXPECT_EQ(covered_by(sent_[0]), 0b101u);
  EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(5));
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(escalated(Reason::excluded), 1u);
  EXPECT_EQ(contribute(1, 0, {2}, kOwnFlags).verdict, Verdict::forwarded);
  EXPECT_EQ(sent_[0].header.type, PacketType::contribution);
  EXPECT_TRUE(host_result(0, 7));
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::job_group);
}

// T6: whether it flags its data or not, and however early it is, it is in no sum here.
TEST_F(ExcludeTest, T6EarlyDataOfAnExcludedChildIsNotSummed) {
  for (const std::uint32_t flags : {0u, kOwnFlags}) {
    build_plain();
    rule(1, true);
    EXPECT_EQ(contribute(1, 0, {2}, flags).verdict, Verdict::forwarded);
    EXPECT_EQ(sent_.back().to, Outgoing::To::completion_host);
    EXPECT_NE(sent_.back().header.flags & wire::kFlagExcluded, 0u);
    EXPECT_EQ(contribute(0, 0, {1}).verdict, Verdict::folded);
    contribute(2, 0, {4});
    EXPECT_EQ(covered_by(sent_.at(0)), 0b101u);
    EXPECT_THAT(sent_[0].elements<std::int32_t>(), ElementsAre(5));
  }
}

TEST_F(ExcludeTest, FromAStatedOpOnAndNotBefore) {
  build_plain();
  EXPECT_EQ(rule(1, true, 1).op, 1u);
  complete(0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result) << "op 0 is summed with everybody";
  contribute(0, 1, {1});
  contribute(2, 1, {4});
  EXPECT_EQ(sent_.at(0).header.type, PacketType::escalation);
  EXPECT_EQ(rule(1, false, 3).op, 3u);
  contribute(0, 2, {1});
  contribute(2, 2, {4});
  EXPECT_EQ(sent_.at(0).header.type, PacketType::escalation);
  complete(3);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
}

TEST_F(ExcludeTest, AnOpThatHasBegunIsLeftAsItIs) {
  build_plain();
  contribute(0, 0, {1});
  const Ruling late = rule(1, true, 0);
  EXPECT_EQ(late.refusal, Refusal::begun);
  EXPECT_EQ(late.op, 1u);
  EXPECT_EQ(rule(1, true).op, 1u) << "left to the switch: the next";
  contribute(1, 0, {2});
  contribute(2, 0, {4});
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
}

// The host may finish it, too: its chunk never had a slot here.
TEST_F(ExcludeTest, SoIsOneThatTheHostSums) {
  build_plain();
  contribute(0, 0, {1}, wire::kFlagAtPs);
  EXPECT_EQ(rule(1, true, 0).refusal, Refusal::begun);
  EXPECT_EQ(rule(1, true).op, 1u);
}

TEST_F(ExcludeTest, RefusesWhatMakesNoSense) {
  build_plain();
  EXPECT_EQ(engine_->exclude(99, 0, true, {}, *outbox_).refusal, Refusal::unknown_job);
  EXPECT_EQ(rule(3, true).refusal, Refusal::no_child);
  EXPECT_EQ(rule(0, false).refusal, Refusal::not_excluded);
  EXPECT_EQ(rule(0, true).refusal, Refusal::none);
  EXPECT_EQ(rule(0, true).refusal, Refusal::excluded);
  EXPECT_EQ(rule(1, true).refusal, Refusal::none);
  EXPECT_EQ(rule(2, true).refusal, Refusal::last);
  EXPECT_EQ(rule(1, false, 5).refusal, Refusal::none);
  EXPECT_EQ(rule(1, true).refusal, Refusal::returning);
  build(3, 4);
  EXPECT_EQ(rule(0, true).refusal, Refusal::not_running);
}

// T13: the child is told; again when its data shows that it does not know.
TEST_F(ExcludeTest, T13TheWorkerIsTold) {
  build_plain();
  rule(1, true);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].peer, peer(1));
  EXPECT_EQ(sent_[0].header.type, PacketType::lease);
  EXPECT_NE(sent_[0].header.flags & wire::kFlagExcluded, 0u);
  EXPECT_EQ(sent_[0].header.op, 0u);
  contribute(1, 0, {2}, kOwnFlags);
  EXPECT_EQ(sent_.size(), 1u) << "it knows";
  contribute(1, 1, {2});
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.type, PacketType::lease);
  rule(1, false);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagExcluded, 0u);
  EXPECT_EQ(sent_[0].header.op, 2u);
  contribute(1, 2, {2}, kOwnFlags);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::lease);
  EXPECT_EQ(sent_[0].header.op, 2u);
}

// Rule 14: a flagged packet clears its child for the chunk at once, whatever the switch thinks.
TEST_F(ExcludeTest, AChildThatFlagsItsDataIsNotWaitedFor) {
  build_plain();
  contribute(0, 0, {1});
  EXPECT_EQ(contribute(1, 0, {2}, kOwnFlags).verdict, Verdict::forwarded);
  EXPECT_EQ(escalated(Reason::excluded), 1u);
  contribute(1, 1, {2}, kOwnFlags);
  EXPECT_EQ(escalated(Reason::excluded), 2u);
  EXPECT_EQ(contribute(2, 1, {2}).verdict, Verdict::forwarded);
}

// The host has its data, or asks for it; here nothing is known about that.
TEST_F(ExcludeTest, ItsProbesAreTheHostsToAnswer) {
  build_plain();
  rule(1, true);
  contribute(0, 0, {1});
  EXPECT_EQ(probe(1, 0).verdict, Verdict::forwarded);
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::completion_host);
  EXPECT_EQ(probe(2, 0).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::unknown);
  probe(0, 0);
  EXPECT_THAT(sent_.at(0).missing(), ElementsAre(2)) << "who is excluded is not waited for";
}

// Then there is no sum that could be sent.
TEST_F(ExcludeTest, GivenUpBeforeAnybodyElseCame) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  rule(1, true);
  contribute(1, 0, {2}, kOwnFlags);
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.covered, 0u);
  EXPECT_EQ(sent_[0].header.dtype, wire::DType::none);
  EXPECT_EQ(sent_[0].header.element_count, 0u);
}

// T22: the deadline frees the slot all the same, and blames those who were waited for.
TEST_F(ExcludeTest, T22ADeadlineAmongTheOthers) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  rule(1, true);
  contribute(1, 0, {2}, kOwnFlags);
  contribute(0, 0, {1});
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, Reason::deadline);
  EXPECT_EQ(covered_by(sent_[0]), 0b001u);
  EXPECT_EQ(engine_->child_totals(0, 1).missed_deadlines.get(), 0u);
  EXPECT_EQ(engine_->child_totals(0, 2).missed_deadlines.get(), 1u);
}

// T15, rule 11: a declared order goes on as its prefix and single contributions.
TEST_F(ExcludeTest, T15AReproducibleJobIsNotFoldedPastAnExcludedChild) {
  for (const auto trigger : {config::Trigger::streaming, config::Trigger::collect}) {
    config::JobConfig job = test_job();
    job.order = wire::Order::reproducible;
    job.trigger = trigger;
    build(test_switch({job}));
    join_all();
    rule(1, true);
    contribute(0, 0, {1});
    contribute(2, 0, {4});
    const bool streams = trigger == config::Trigger::streaming;
    ASSERT_EQ(sent_.size(), streams ? 2u : 3u);
    EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
    EXPECT_EQ(sent_[0].header.covered, streams ? 1u : 0u);
    EXPECT_EQ(sent_.back().header.type, PacketType::contribution);
    EXPECT_EQ(sent_.back().header.origin, 2u);
    EXPECT_THAT(sent_.back().elements<std::int32_t>(), ElementsAre(4));
  }
}

// One rank's data that is passed on is no sum.
TEST_F(ExcludeTest, ABroadcastOfAnExcludedChildGoesOn) {
  build_plain();
  rule(1, true);
  wire::Header h = data_header(1, 0, 1);
  h.collective = wire::Collective::broadcast;
  const std::int32_t value = 9;
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(1)).verdict,
            Verdict::completed);
}

TEST_F(ExcludeTest, ANewEpochBeginsWithEverybody) {
  build_plain();
  rule(1, true);
  join(0, 1);
  for (std::uint32_t rank = 1; rank < 3; ++rank) join(rank, 1);
  epoch_ = status().epoch;
  complete(0);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
  EXPECT_EQ(rule(1, false).refusal, Refusal::not_excluded);
}

TEST_F(ExcludeTest, SharedSlotsToo) {
  build_with([](config::JobConfig& job) { job.slots = config::SlotMode::dynamic; });
  rule(1, true);
  contribute(1, 0, {2});
  EXPECT_EQ(counters().slots_open.get(), 1u);
  contribute(0, 0, {1});
  contribute(2, 0, {4});
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(covered_by(sent_.at(0)), 0b101u);
}

}  // namespace
}  // namespace tributary::aggregator
