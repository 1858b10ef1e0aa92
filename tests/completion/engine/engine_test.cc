#include "completion/engine/engine.h"

#include <stdexcept>

#include "tests/completion/engine_fixture.h"

namespace tributary::completion {
namespace {

using wire::PacketType;
using Ints = std::vector<std::int32_t>;

TEST_F(CompletionTest, OnlyTheEpochThatRunsIsHeard) {
  build(2);
  wire::Header h = header(PacketType::probe, 0);
  h.epoch = kEpoch - 1;
  EXPECT_EQ(deliver(h).reason, DropReason::stale_epoch);
  h = header(PacketType::probe, 0);
  h.attempt = 1;
  EXPECT_EQ(deliver(h).reason, DropReason::stale_epoch);
  h = header(PacketType::probe, 0);
  h.job = 8;
  EXPECT_EQ(deliver(h).reason, DropReason::unknown_job);
  h = header(PacketType::probe, 0);
  h.shard = 1;
  EXPECT_EQ(deliver(h).reason, DropReason::bad_shard);
  h = header(PacketType::join, 0);
  EXPECT_EQ(deliver(h).reason, DropReason::bad_type);
  EXPECT_EQ(counters().stale.get(), 2u);
  engine_->end_epoch(7);
  EXPECT_EQ(probe(0, 0).reason, DropReason::not_joined);
}

// Rule 5: what an earlier host of the job is told or says is not for this one.
TEST_F(CompletionTest, AnotherHostsTermIsRefused) {
  build(2);
  for (const std::uint32_t term : {kTerm - 1, kTerm + 1, kTerm}) {
    std::array<std::byte, 32> area;
    wire::ExtensionWriter writer(area);
    writer.add(wire::ResultInfo{4, 0, term, 0});
    const Decision d = deliver(header(PacketType::escalation, 0), writer.bytes());
    EXPECT_EQ(d.verdict == Verdict::noted, term == kTerm);
    EXPECT_EQ(d.reason == DropReason::stale_epoch, term != kTerm);
  }
  EXPECT_EQ(counters().stale.get(), 2u);
}

// Rule 1: a second run does not get the first run's pieces.
TEST_F(CompletionTest, ANewEpochStartsWithNothing) {
  build(2);
  single(0, 0, {100});
  engine_->start_epoch(7, kEpoch, 0, kTerm);
  EXPECT_EQ(counters().bytes_held.get(), 0u);
  EXPECT_EQ(single(1, 0, {2}).verdict, Verdict::held);
  EXPECT_EQ(single(0, 0, {1}).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), Ints{3});
}

TEST_F(CompletionTest, JobsDoNotShareMemory) {
  JobLimits a = test_limits(2);
  a.bytes = least_bytes(a);
  JobLimits b = a;
  b.id = 8;
  const std::array both = {a, b};
  build(a);
  engine_ = std::make_unique<Engine>(both);
  engine_->start_epoch(7, kEpoch, 0, kTerm);
  engine_->start_epoch(8, kEpoch, 0, kTerm);
  EXPECT_EQ(single(0, 0, {1}).verdict, Verdict::held);
  EXPECT_EQ(single(0, 1, {1}).reason, DropReason::no_slot);
  limits_.id = 8;
  EXPECT_EQ(single(0, 1, {1}).verdict, Verdict::held);
  EXPECT_EQ(engine_->job_count(), 2u);
  EXPECT_EQ(engine_->limits(1).id, 8u);
  const std::array twice = {a, a};
  EXPECT_THROW(Engine{twice}, std::invalid_argument);
}

TEST_F(CompletionTest, StatusShowsWhatWaits) {
  build(3);
  single(1, 0, {1});
  single(0, 1, {1});
  single(1, 1, {1});
  now_ = now_ + Duration::ms(7);
  EXPECT_EQ(engine_->status(now_, 1).size(), 1u);
  const auto all = engine_->status(now_, 10);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].seq, 1u);
  EXPECT_EQ(all[0].job, 7u);
  EXPECT_EQ(all[0].covered, 2u);
  EXPECT_EQ(all[0].required, 3u);
  EXPECT_EQ(all[0].pieces, 2u);
  EXPECT_EQ(all[0].missing, Ranks{2});
  EXPECT_EQ(all[0].reason, wire::Reason::collision);
  EXPECT_EQ(all[0].open_for, Duration::ms(7));
}

TEST_F(CompletionTest, MemoryIsWhatTheLimitsSay) {
  build(3);
  EXPECT_GE(engine_->memory_bytes(), most_bytes(limits_));
  EXPECT_LT(engine_->memory_bytes(), most_bytes(limits_) + 20'000);
}

}  // namespace
}  // namespace tributary::completion
