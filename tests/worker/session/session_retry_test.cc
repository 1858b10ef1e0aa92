// The second attempt of a chunk, as floating point (rule 12, O10).
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/worker/session_fixture.h"
#include "worker/session/block_scaled.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PacketType;

class SessionRetry : public SessionTest {
 protected:
  void begin(std::vector<float> numbers, std::int16_t exponent = 0) {
    start(start_info());
    call(std::move(numbers), exponent);
  }
  void call(std::vector<float> numbers, std::optional<std::int16_t> exponent = 0) {
    op = {};
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
  // Runs the op to its end; which chunks, counted from the first, were sent as floats at once.
  // `backwards`: of what was sent together the results come the other way round.
  std::vector<std::uint32_t> sent_as_floats(const std::function<bool(std::uint32_t)>& overflows,
                                            bool backwards = false) {
    std::vector<std::uint32_t> found;
    for (auto sent = drain(); !sent.empty(); sent = drain()) {
      if (backwards) std::reverse(sent.begin(), sent.end());
      for (const Sent& s : sent) {
        const bool fixed = s.header.encoding == wire::Encoding::block_scaled;
        if (fixed && overflows(s.header.chunk)) {
          receive(ask(s));
          continue;
        }
        receive(result_of(s), nullptr, s.payload);
        if (fixed || s.header.attempt != 0) continue;
        found.push_back(s.header.chunk);
        EXPECT_EQ(s.header.flags & ~wire::kFlagLast, wire::kFlagAtPs) << s.header.chunk;
        EXPECT_EQ(s.header.dtype, wire::DType::float32);
        EXPECT_EQ(s.header.scale_exponent, 0);
      }
    }
    EXPECT_EQ(session->take_finished(), &op);
    EXPECT_FALSE(op.failure);
    std::ranges::sort(found);
    return found;
  }
  static std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t end) {
    std::vector<std::uint32_t> all(end - first);
    std::iota(all.begin(), all.end(), first);
    return all;
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

class SessionFloats : public SessionRetry {
 protected:
  static constexpr std::uint32_t kWindow = 16;
  static constexpr std::uint32_t kChunks = 200;
  // The first chunk that may know of a row's end: all ranks hold its result.
  static constexpr std::uint32_t kFirst = Fallback::kInARow - 1 + kWindow;

  // Chunk `sample` is one.
  void begin_long(std::uint32_t sample, std::optional<std::int16_t> exponent = 0) {
    start(start_info(kWindow), Fallback::kSampleEvery - sample);
    call(std::vector<float>(std::size_t{4} * kChunks, 1.5F), exponent);
  }
  static bool always(std::uint32_t) { return true; }
};

TEST_F(SessionFloats, O10_ARowOfOverflowsMakesARankSendFloatsAtOnce) {
  begin_long(100);
  auto expected = range(kFirst, kChunks);
  std::erase(expected, 100);
  EXPECT_EQ(sent_as_floats(always), expected);
  EXPECT_THAT(values, ::testing::Each(1.5F)) << "of floats all of them";
  EXPECT_EQ(session->counters().floats_at_once.get(), expected.size());
  EXPECT_EQ(session->counters().float_retries.get(), kChunks - expected.size());
  EXPECT_EQ(session->counters().contributions.get(), kChunks);
}

TEST_F(SessionFloats, O10_ASumThatFitsEndsTheRow) {
  begin_long(1);
  EXPECT_THAT(sent_as_floats([](std::uint32_t chunk) { return chunk != 30; }),
              ::testing::ElementsAreArray(range(kFirst + 31, kChunks)));
  call(std::vector<float>(std::size_t{4} * kChunks, 1.5F));
  EXPECT_EQ(sent_as_floats(always).size(), kChunks) << "the next op goes on with it";
}

TEST_F(SessionFloats, O10_ASampleThatFitsEndsSendingFloats) {
  begin_long(100);
  auto expected = range(kFirst, 100 + kWindow);
  std::erase(expected, 100);
  EXPECT_EQ(sent_as_floats([](std::uint32_t chunk) { return chunk < 100; }), expected);
}

// Ranks that differ would disagree about what they sum.
TEST_F(SessionFloats, O10_TheOrderOfResultsDecidesNothing) {
  const auto most = [](std::uint32_t chunk) { return chunk != 60; };
  begin_long(100);
  const auto forward = sent_as_floats(most);
  create();
  begin_long(100);
  EXPECT_EQ(sent_as_floats(most, true), forward);
  EXPECT_FALSE(forward.empty());
}

// An op without elements has nothing that could overflow, and proves nothing.
TEST_F(SessionFloats, O10_WhatHasNoElementsSaysNothingOfOverflows) {
  begin_long(1);
  sent_as_floats(always);
  call({});
  for (const Sent& s : drain()) receive(result_of(s), nullptr, s.payload);
  ASSERT_EQ(session->take_finished(), &op);
  call(std::vector<float>(std::size_t{4} * kChunks, 1.5F));
  EXPECT_EQ(sent_as_floats(always).size(), kChunks);
}

// There is no further attempt.
TEST_F(SessionFloats, O10_FloatsAreNotAskedForAgain) {
  begin_long(1);
  sent_as_floats(always);
  call({1, 2, 3, 4});
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_EQ(sent[0].header.encoding, wire::Encoding::plain);
  const auto before = session->counters().drops.get(DropReason::stale_epoch);
  receive(ask(sent[0]));
  EXPECT_THAT(drain(), IsEmpty());
  EXPECT_EQ(session->counters().drops.get(DropReason::stale_epoch), before + 1);
}

TEST_F(SessionFloats, O10_AnotherExponentBeginsAnew) {
  begin_long(1);
  sent_as_floats(always);
  call(std::vector<float>(std::size_t{4} * kChunks, 1.5F), -1);
  EXPECT_THAT(sent_as_floats(always), ::testing::ElementsAreArray(range(kFirst, kChunks)));
}

}  // namespace
}  // namespace tributary::worker
