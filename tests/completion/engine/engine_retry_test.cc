// Rule 12, O10: fixed-point sums that overflow are asked for again as floating point, and nothing
// of the first attempt has a part in the result.
#include <gmock/gmock.h>

#include "core/wire/attempt.h"
#include "tests/completion/engine_fixture.h"

namespace tributary::completion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PacketType;

constexpr std::int32_t kLargest = 2'147'483'647;

class FloatRetryTest : public CompletionTest {
 protected:
  void SetUp() override { build_retrying(test_limits()); }
  void build_retrying(JobLimits limits) {
    limits.float_retry = true;
    build(limits);
  }
  template <typename T>
  Decision send(wire::Header h, const std::vector<T>& values, std::span<const std::byte> ext = {}) {
    return deliver(h, ext, std::as_bytes(std::span(values)));
  }
  // What the root sends when its sum is complete, or is to be verified.
  Decision fixed_sum(const Ranks& ranks, std::uint32_t seq, std::int32_t value,
                     std::uint32_t flags) {
    const std::vector<std::int32_t> values = {value};
    wire::Header h = data_header(PacketType::escalation, seq, values, wire::DType::int32);
    h.encoding = wire::Encoding::block_scaled;
    h.covered = static_cast<std::uint32_t>(ranks.size());
    h.reason = wire::Reason::overflow;
    h.flags |= flags;
    return send(h, values, bitmap(ranks));
  }
  Decision fixed(std::uint32_t rank, std::uint32_t seq, std::int32_t value,
                 std::uint32_t flags = 0) {
    const std::vector<std::int32_t> values = {value};
    wire::Header h = data_header(PacketType::contribution, seq, values, wire::DType::int32);
    h.encoding = wire::Encoding::block_scaled;
    h.origin = rank;
    h.covered = 1;
    h.flags |= wire::kFlagCollision | flags;
    return send(h, values);
  }
  Decision as_float(std::uint32_t rank, std::uint32_t seq, float value) {
    const std::vector<float> values = {value};
    wire::Header h = data_header(PacketType::contribution, seq, values, wire::DType::float32);
    h.attempt = wire::kFloatRetry;
    h.flags |= wire::kFlagFloatRetry | wire::kFlagAtPs;
    h.origin = rank;
    h.covered = 1;
    return send(h, values);
  }
  void expect_asked(const Ranks& ranks) const {
    EXPECT_EQ(asked(), ranks);
    for (const Sent& s : sent_) {
      EXPECT_EQ(s.header.type, PacketType::unknown);
      EXPECT_EQ(s.header.attempt, wire::kFloatRetry);
      EXPECT_EQ(s.header.flags & (wire::kFlagFloatRetry | wire::kFlagAtPs),
                wire::kFlagFloatRetry | wire::kFlagAtPs);
    }
  }
};

TEST_F(FloatRetryTest, O10_AFlaggedSumIsNotDeliveredButMadeOfFloats) {
  EXPECT_EQ(fixed_sum({0, 1, 2}, 0, kLargest, wire::kFlagOverflow).verdict, Verdict::held);
  expect_asked({0, 1, 2});
  EXPECT_EQ(counters().float_retries.get(), 1u);
  EXPECT_EQ(counters().overflows.get(), 0u);
  EXPECT_EQ(counters().completions(), 0u);

  EXPECT_EQ(as_float(2, 0, 3e9F).verdict, Verdict::held);
  EXPECT_EQ(as_float(0, 0, 1e9F).verdict, Verdict::held);
  EXPECT_EQ(as_float(1, 0, 2e9F).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  const wire::Header& h = sent_[0].header;
  EXPECT_EQ(h.type, PacketType::result);
  EXPECT_EQ(h.attempt, wire::kFloatRetry);
  EXPECT_EQ(h.dtype, wire::DType::float32);
  EXPECT_EQ(h.encoding, wire::Encoding::plain);
  EXPECT_EQ(h.reason, wire::Reason::overflow);
  EXPECT_EQ(h.flags & (wire::kFlagOverflow | wire::kFlagVerified | wire::kFlagFloatRetry),
            wire::kFlagVerified | wire::kFlagFloatRetry);
  EXPECT_THAT(sent_[0].elements<float>(), ElementsAre(6e9F));
}

// Single contributions whose sum overflows here, and one that its own rank found out of range.
TEST_F(FloatRetryTest, O10_SoDoesASumThatOverflowsHere) {
  fixed(0, 0, kLargest);
  fixed(1, 0, kLargest);
  EXPECT_THAT(sent_, IsEmpty());
  fixed(2, 0, 1);
  expect_asked({0, 1, 2});
  fixed(0, 1, 0, wire::kFlagOverflow);
  fixed(1, 1, 1);
  fixed(2, 1, 1);
  expect_asked({0, 1, 2});
  EXPECT_EQ(counters().float_retries.get(), 2u);
}

// Rule 5: what is said of an older attempt counts for nothing.
TEST_F(FloatRetryTest, O10_PiecesOfTheFirstAttemptAreStale) {
  fixed_sum({0, 1, 2}, 0, kLargest, wire::kFlagOverflow);
  EXPECT_EQ(fixed(0, 0, 1, wire::kFlagResend).reason, DropReason::stale_seq);
  EXPECT_EQ(fixed_sum({0, 1, 2}, 0, 5, 0).reason, DropReason::stale_seq);
  as_float(0, 0, 1);
  as_float(1, 0, 2);
  EXPECT_EQ(as_float(1, 0, 2).reason, DropReason::duplicate);
  EXPECT_EQ(as_float(2, 0, 3).verdict, Verdict::completed);
  EXPECT_THAT(sent_.at(0).elements<float>(), ElementsAre(6.0F));
  EXPECT_EQ(fixed(0, 0, 1, wire::kFlagResend).reason, DropReason::stale_seq);
  EXPECT_EQ(counters().stale.get(), 3u);
}

// A rank whose UNKNOWN was lost learns by its probe.
TEST_F(FloatRetryTest, O10_AProbeOfTheFirstAttemptIsToldOfTheSecond) {
  fixed_sum({0, 1, 2}, 0, kLargest, wire::kFlagOverflow);
  as_float(0, 0, 1);
  probe(1, 0);
  expect_asked({1});
  probe(0, 0);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::pending);
  EXPECT_EQ(sent_[0].header.attempt, wire::kFloatRetry);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(1u, 2u));
}

// An engine that had to give the chunk up, or is new, takes its word from those who know.
TEST_F(FloatRetryTest, O10_TheSecondAttemptIsTakenUpFromWhoeverMakesIt) {
  EXPECT_EQ(as_float(1, 0, 2).verdict, Verdict::held);
  probe(0, 0);
  expect_asked({0});
  fixed(0, 1, 1);
  EXPECT_EQ(as_float(1, 1, 2).verdict, Verdict::held);
  EXPECT_EQ(as_float(0, 1, 1).verdict, Verdict::held) << "what was held of the first is no part";
  EXPECT_EQ(as_float(2, 1, 3).verdict, Verdict::completed);
  EXPECT_THAT(sent_.at(0).elements<float>(), ElementsAre(6.0F));
}

// T15: the declared order holds for the second attempt too.
TEST_F(FloatRetryTest, O10_T15_TheOrderOfArrivalChangesNoBit) {
  JobLimits limits = test_limits();
  limits.order = wire::Order::reproducible;
  build_retrying(limits);
  const float expected = (1e8F + 1.0F) + -1e8F;
  fixed_sum({0, 1, 2}, 0, kLargest, wire::kFlagOverflow);
  as_float(2, 0, -1e8F);
  as_float(1, 0, 1.0F);
  as_float(0, 0, 1e8F);
  EXPECT_THAT(sent_.at(0).elements<float>(), ElementsAre(expected));
}

TEST_F(FloatRetryTest, O10_NativeIntegersAndJobsWithoutFloatsGetTheMarkedResult) {
  aggregate({0, 1, 2}, 0, std::vector<std::int32_t>{kLargest}, wire::Reason::verify,
            wire::kFlagOverflow);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
  build(test_limits());
  fixed_sum({0, 1, 2}, 0, kLargest, wire::kFlagOverflow);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, PacketType::result);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
  EXPECT_EQ(as_float(0, 1, 1).reason, DropReason::stale_epoch);
}

// Only what a worker sends in a second attempt, and only that attempt.
TEST_F(FloatRetryTest, O10_OtherSecondAttemptsAreRefused) {
  const std::vector<float> values = {1};
  wire::Header good = data_header(PacketType::contribution, 0, values, wire::DType::float32);
  good.attempt = wire::kFloatRetry;
  good.flags |= wire::kFlagFloatRetry;
  good.covered = 1;
  const auto refused = [&](auto change) {
    wire::Header h = good;
    change(h);
    EXPECT_EQ(send(h, values).reason, DropReason::stale_epoch);
  };
  refused([](wire::Header& h) { h.attempt = 2; });
  refused([](wire::Header& h) { h.flags = 0; });
  refused([](wire::Header& h) { h.dtype = wire::DType::int32; });
  refused([](wire::Header& h) { h.encoding = wire::Encoding::block_scaled; });
  refused([](wire::Header& h) { h.reduce_op = wire::ReduceOp::max; });
  refused([](wire::Header& h) { h.collective = wire::Collective::reduce; });
  refused([](wire::Header& h) { h.type = PacketType::aggregate; });
  EXPECT_EQ(send(good, values).verdict, Verdict::held);
}

}  // namespace
}  // namespace tributary::completion
