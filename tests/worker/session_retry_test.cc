// The second attempt of a chunk, as floating point (rule 12, O10).
#include <gmock/gmock.h>

#include <limits>

#include "tests/worker/session_fixture.h"
#include "worker/block_scaled.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PacketType;

class SessionRetry : public SessionTest {
 protected:
  void begin(std::vector<float> numbers, std::int16_t exponent = 0) {
    start(start_info());
    values = std::move(numbers);
    scaled.emplace(values, 3, 4, exponent);
    op.count = values.size();
    op.dtype = wire::DType::int32;
    op.scaled = &*scaled;
    session->submit(op, now);
  }
  wire::Header ask(const Sent& about, std::uint8_t attempt = wire::kFloatRetry) const {
    wire::Header h = answer(about, PacketType::unknown);
    h.attempt = attempt;
    h.flags = wire::kFlagFloatRetry | wire::kFlagAtPs;
    return h;
  }
  void receive_floats(const Sent& contribution, const std::vector<float>& sum) {
    wire::Header h = result_of(contribution);
    h.flags |= wire::kFlagVerified | wire::kFlagFloatRetry;
    receive(h, nullptr, std::as_bytes(std::span(sum)));
  }
  static std::vector<float> floats_of(const Sent& s) {
    std::vector<float> v(s.payload.size() / 4);
    std::memcpy(v.data(), s.payload.data(), s.payload.size());
    return v;
  }

  std::vector<float> values;
  std::optional<BlockScaled> scaled;
  Op op;
};

TEST_F(SessionRetry, O10_AChunkThatIsAskedForAgainIsSentAsItIs) {
  begin({1.25F, 2, 3, 4, 5});
  const auto first = drain();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].header.attempt, 0);
  EXPECT_EQ(first[0].header.encoding, wire::Encoding::block_scaled);
  EXPECT_EQ(first[0].header.flags & wire::kFlagOverflow, 0u);
  receive(ask(first[0]));
  const auto again = drain();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].header.type, PacketType::contribution);
  EXPECT_EQ(again[0].header.attempt, wire::kFloatRetry);
  EXPECT_EQ(again[0].header.flags, wire::kFlagFloatRetry | wire::kFlagAtPs);
  EXPECT_EQ(again[0].header.dtype, wire::DType::float32);
  EXPECT_EQ(again[0].header.encoding, wire::Encoding::plain);
  EXPECT_EQ(again[0].header.scale_exponent, 0);
  EXPECT_EQ(again[0].header.element_count, first[0].header.element_count);
  EXPECT_EQ(again[0].header.seq, first[0].header.seq);
  EXPECT_THAT(floats_of(again[0]), ElementsAre(1.25F, 2, 3, 4));
  receive(ask(first[0]));  // its duplicate
  EXPECT_THAT(drain(), IsEmpty());

  receive_floats(again[0], {10, 20, 30, 40});
  receive(result_of(first[1]), nullptr, first[1].payload);
  ASSERT_EQ(session->take_finished(), &op);
  EXPECT_FALSE(op.failure);
  EXPECT_THAT(values, ElementsAre(10, 20, 30, 40, 5));
  EXPECT_EQ(session->counters().float_retries.get(), 1u);
  EXPECT_EQ(session->counters().contributions.get(), 2u);
  EXPECT_EQ(session->counters().smoothed_rtt_ns.get(), 0u) << "Karn: no sample of a second attempt";
}

// Rule 5: only this rank's attempt counts.
TEST_F(SessionRetry, O10_WhatConcernsAnotherAttemptIsRefused) {
  begin({1, 2, 3, 4});
  const Sent first = drain()[0];
  const auto refused = [&](const wire::Header& h, std::span<const std::byte> payload = {}) {
    const auto before = session->counters().drops.get(DropReason::stale_epoch);
    receive(h, nullptr, payload);
    EXPECT_EQ(session->counters().drops.get(DropReason::stale_epoch), before + 1);
    EXPECT_THAT(drain(), IsEmpty());
  };
  refused(ask(first, 2));
  wire::Header unmarked = ask(first);
  unmarked.flags = 0;
  refused(unmarked);
  wire::Header early = answer(first, PacketType::pending);
  early.attempt = wire::kFloatRetry;
  refused(early);

  receive(ask(first));
  ASSERT_EQ(drain().size(), 1u);
  refused(result_of(first), first.payload);
  refused(answer(first, PacketType::pending));
  refused(answer(first, PacketType::unknown));
  EXPECT_FALSE(op.failure);
}

TEST_F(SessionRetry, O10_PlainOpsHaveNoSecondAttempt) {
  start(start_info());
  submit(4);
  const Sent sent = drain()[0];
  receive(ask(sent));
  EXPECT_THAT(drain(), IsEmpty());
  EXPECT_EQ(session->counters().float_retries.get(), 0u);
  receive_result(sent);
  EXPECT_TRUE(session->idle());
}

// Rule 6 goes on: it is probed with its attempt, and sent again when the engine lacks it.
TEST_F(SessionRetry, O10_ASecondAttemptIsProbedAndResent) {
  begin({1, 2, 3, 4});
  const Sent first = drain()[0];
  receive(ask(first));
  drain();
  const auto probes = of_type(run_for(Duration::ms(20)), PacketType::probe);
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_EQ(probes[0].header.attempt, wire::kFloatRetry);
  receive(ask(first));
  const auto again = drain();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].header.flags & wire::kFlagResend, wire::kFlagResend);
  EXPECT_EQ(again[0].header.attempt, wire::kFloatRetry);
  EXPECT_EQ(session->counters().float_retries.get(), 1u);
}

// The engine may ask while the first attempt is still to be resent.
TEST_F(SessionRetry, O10_AResendThatWaitsBecomesTheSecondAttempt) {
  begin({1, 2, 3, 4});
  const Sent first = drain()[0];
  const auto probes = of_type(run_for(Duration::ms(20)), PacketType::probe);
  ASSERT_EQ(probes.size(), 1u);
  receive(answer(first, PacketType::unknown));
  receive(ask(first));
  const auto again = drain();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].header.attempt, wire::kFloatRetry);
}

// What does not fit into fixed point is marked by its own rank.
TEST_F(SessionRetry, O10_ValuesOutOfRangeAreMarked) {
  begin({1, 2, 3, 4, 3e9F, 1, 1, 1, std::numeric_limits<float>::quiet_NaN(), 1, 1, 1});
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].header.flags & wire::kFlagOverflow, 0u);
  EXPECT_EQ(sent[1].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
  EXPECT_EQ(sent[2].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
}

}  // namespace
}  // namespace tributary::worker
