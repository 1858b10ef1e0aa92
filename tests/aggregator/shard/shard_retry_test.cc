// Rule 12, O10: a fixed-point sum that overflows goes to the completion host, and what workers send
// again as floating point passes the switch by; its result is kept like any other.
#include "core/wire/attempt.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

constexpr std::int32_t kLargest = 2'147'483'647;

class ShardRetryTest : public EngineTest {
 protected:
  void build_with(void (*change)(config::JobConfig&)) {
    config::JobConfig job = test_job();
    change(job);
    build(test_switch({job}));
    join_all();
  }
  void SetUp() override {
    build_with([](config::JobConfig&) {});
  }
  Decision fixed(std::uint32_t rank, std::uint32_t seq, std::int32_t value,
                 std::uint32_t flags = 0) {
    wire::Header h = data_header(rank, seq, 1);
    h.encoding = wire::Encoding::block_scaled;
    h.scale_exponent = -3;
    h.flags |= flags;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
  }
  wire::Header second(std::uint32_t rank, std::uint32_t seq, std::uint32_t flags = 0) const {
    wire::Header h = data_header(rank, seq, 1, wire::DType::float32);
    h.attempt = wire::kFloatRetry;
    h.flags |= wire::kFlagFloatRetry | wire::kFlagAtPs | flags;
    return h;
  }
  Decision as_float(const wire::Header& h, float value) {
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(h.origin));
  }
  bool from_host(const wire::Header& h, std::span<const std::byte> payload = {}) {
    sent_.clear();
    const bool accepted = engine_->on_host_packet({h, {}, payload}, now_, *outbox_);
    collect();
    return accepted;
  }
  bool ask_again(std::uint32_t rank, std::uint32_t seq, std::uint8_t attempt = wire::kFloatRetry) {
    wire::Header h = header(PacketType::unknown, rank);
    h.op = h.seq = seq;
    h.attempt = attempt;
    h.flags = wire::kFlagFloatRetry | wire::kFlagAtPs;
    return from_host(h);
  }
  bool float_result(std::uint32_t seq, float value, std::uint8_t attempt = wire::kFloatRetry) {
    wire::Header h = second(0, seq);
    h.type = PacketType::result;
    h.attempt = attempt;
    h.flags = wire::kFlagVerified | wire::kFlagFloatRetry;
    h.covered = workers_;
    return from_host(h, std::as_bytes(std::span(&value, 1)));
  }
  void overflow(std::uint32_t seq) {
    fixed(0, seq, kLargest);
    fixed(1, seq, kLargest);
    EXPECT_EQ(fixed(2, seq, 1).verdict, Verdict::forwarded);
  }
};

TEST_F(ShardRetryTest, O10_AnOverflowedFixedPointSumIsNotMulticast) {
  overflow(0);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::overflow);
  EXPECT_EQ(sent_[0].header.covered, 3u);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
  EXPECT_EQ(counters().slots_open.get(), 0u) << "T22: nothing waits here";

  ASSERT_TRUE(ask_again(1, 0));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].peer, peer(1));
  EXPECT_EQ(sent_[0].header.type, PacketType::unknown);
  EXPECT_EQ(sent_[0].header.attempt, wire::kFloatRetry);

  EXPECT_EQ(as_float(second(1, 0), 0.5F).verdict, Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.attempt, wire::kFloatRetry);
  EXPECT_EQ(sent_[0].elements<float>(), std::vector<float>{0.5F});

  ASSERT_TRUE(float_result(0, 6e9F));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.attempt, wire::kFloatRetry);
  EXPECT_EQ(sent_[0].header.dtype, wire::DType::float32);
  EXPECT_EQ(sent_[0].header.encoding, wire::Encoding::plain);
  EXPECT_EQ(sent_[0].header.flags & (wire::kFlagFloatRetry | wire::kFlagOverflow),
            wire::kFlagFloatRetry);
  EXPECT_EQ(counters().saturated.get(), 0u);
}

// One rank's numbers were out of range before they were added (sticky, rule 12).
TEST_F(ShardRetryTest, O10_AMarkOnOneContributionStays) {
  fixed(0, 0, 0, wire::kFlagOverflow);
  fixed(1, 0, 1);
  EXPECT_EQ(fixed(2, 0, 1).verdict, Verdict::forwarded);
  EXPECT_EQ(sent_.at(0).header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
}

// Found by the swarm: the mark stays with what was held for its place in the order, too.
TEST_F(ShardRetryTest, O10_AMarkOnAHeldContributionStays) {
  build_with([](config::JobConfig& job) {
    job.order = wire::Order::reproducible;
    job.on_deadline = config::OnDeadline::escalate;
  });
  fixed(1, 0, 0, wire::kFlagOverflow);
  now_ = now_ + Duration::ms(500);
  expire();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[1].header.type, PacketType::contribution);
  EXPECT_EQ(sent_[1].header.origin, 1u);
  EXPECT_EQ(sent_[1].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
}

TEST_F(ShardRetryTest, O10_TheResultOfTheSecondAttemptIsKept) {
  overflow(0);
  ask_again(0, 0);
  ASSERT_TRUE(float_result(0, 2.5F));
  probe(2, 0);
  EXPECT_EQ(sent_.at(0).elements<float>(), std::vector<float>{2.5F});
  EXPECT_EQ(sent_.at(0).header.attempt, wire::kFloatRetry);
  EXPECT_EQ(as_float(second(1, 0, wire::kFlagResend), 1).verdict, Verdict::answered);
  EXPECT_EQ(as_float(second(1, 0), 1).reason, DropReason::duplicate);
  // What is left of the first attempt says nothing any more, and is no disagreement either.
  EXPECT_EQ(fixed(1, 0, 1).reason, DropReason::duplicate);
  EXPECT_EQ(status().state, JobState::running);
}

// Rule 5: results of an older attempt are refused, and so are those of one that was not asked for.
TEST_F(ShardRetryTest, O10_ResultsOfAnotherAttemptAreRefused) {
  overflow(0);
  EXPECT_FALSE(float_result(0, 1)) << "nobody has asked yet";
  ask_again(0, 0);
  wire::Header old = data_header(0, 0, 1);
  old.type = PacketType::result;
  old.encoding = wire::Encoding::block_scaled;
  const std::int32_t value = 7;
  EXPECT_FALSE(from_host(old, std::as_bytes(std::span(&value, 1))));
  EXPECT_FALSE(float_result(0, 1, 2));
  EXPECT_TRUE(float_result(0, 1));
}

TEST_F(ShardRetryTest, O10_SecondAttemptsThatNobodyAskedForAreRefused) {
  EXPECT_EQ(as_float(second(0, 0), 1).reason, DropReason::stale_seq);
  overflow(0);
  EXPECT_EQ(as_float(second(0, 0), 1).reason, DropReason::stale_seq);
  EXPECT_FALSE(ask_again(0, 1)) << "not escalated";
  EXPECT_FALSE(ask_again(0, 0, 2));
  ASSERT_TRUE(ask_again(0, 0));
  const auto refused = [&](auto change, DropReason why) {
    wire::Header h = second(0, 0);
    change(h);
    EXPECT_EQ(as_float(h, 1).reason, why) << drop_label(why);
  };
  refused([](wire::Header& h) { h.attempt = 2; }, DropReason::stale_epoch);
  refused([](wire::Header& h) { h.flags = 0; }, DropReason::stale_epoch);
  refused([](wire::Header& h) { h.fan_in = 2; }, DropReason::bad_fan_in);
  refused([](wire::Header& h) { h.dtype = wire::DType::int32; }, DropReason::bad_dtype);
  refused([](wire::Header& h) { h.encoding = wire::Encoding::block_scaled; },
          DropReason::bad_encoding);
  refused([](wire::Header& h) { h.op = 3; }, DropReason::stale_seq);
  refused([](wire::Header& h) { h.element_count = 2; }, DropReason::bad_payload_length);
  EXPECT_EQ(as_float(second(0, 0), 1).verdict, Verdict::forwarded);
}

// O4: the sum was with the host to be verified; the slot may still be held (O9).
TEST_F(ShardRetryTest, O10_ASumThatWasToBeVerifiedIsAskedForToo) {
  build_with([](config::JobConfig& job) {
    job.verify = true;
    job.release = config::Release::returned;
  });
  fixed(0, 0, kLargest);
  fixed(1, 0, kLargest);
  EXPECT_EQ(fixed(2, 0, 1).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
  EXPECT_EQ(counters().slots_open.get(), 1u);
  ASSERT_TRUE(ask_again(0, 0));
  EXPECT_EQ(counters().slots_open.get(), 0u);
  EXPECT_EQ(as_float(second(0, 0), 1).verdict, Verdict::forwarded);
  EXPECT_TRUE(float_result(0, 1));
}

// A chunk entry that is used anew is of a first attempt again.
TEST_F(ShardRetryTest, O10_TheNextChunkOfThePlaceBeginsWithItsFirstAttempt) {
  for (std::uint32_t seq = 0; seq < 9; ++seq) {
    if (seq == 0) {
      overflow(seq);
      ask_again(0, seq);
      ASSERT_TRUE(float_result(seq, 1));
      continue;
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) fixed(rank, seq, 1);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.attempt, 0);
    EXPECT_EQ(sent_[0].header.encoding, wire::Encoding::block_scaled);
  }
}

// The job may not sum floats: the mark reaches the workers instead.
TEST_F(ShardRetryTest, O10_AJobWithoutFloatSumsGetsTheMarkedResult) {
  build_with([](config::JobConfig& job) {
    job.reductions = {{wire::DType::int32, wire::ReduceOp::sum}};
  });
  fixed(0, 0, kLargest);
  fixed(1, 0, kLargest);
  EXPECT_EQ(fixed(2, 0, 1).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::job_group);
  EXPECT_EQ(sent_.at(0).header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
  // A native integer job, too.
  build_with([](config::JobConfig&) {});
  contribute(0, 0, {kLargest});
  contribute(1, 0, {kLargest});
  EXPECT_EQ(contribute(2, 0, {1}).verdict, Verdict::completed);
  EXPECT_EQ(sent_.at(0).header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
}

// ---- between switches (O12)

wire::Header as_fixed_point(wire::Header h, std::uint32_t flags = 0) {
  h.encoding = wire::Encoding::block_scaled;
  h.scale_exponent = -3;
  h.flags |= flags;
  return h;
}
wire::Header as_second(wire::Header h, std::uint32_t flags = 0) {
  h.attempt = wire::kFloatRetry;
  h.dtype = wire::DType::float32;
  h.flags |= wire::kFlagFloatRetry | wire::kFlagAtPs | flags;
  return h;
}
template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// Ranks 0 and 2 of three, below a hand-made parent.
class LeafRetryTest : public LeafTest {
 protected:
  void SetUp() override { begin(config::Release::sent); }
  void begin(config::Release release) {
    config::JobConfig job = leaf_job();
    job.release = release;
    build_leaf(job);
    run_epoch();
  }
  wire::Header data(std::uint32_t rank) const {
    wire::Header h = from_worker(PacketType::contribution, rank);
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast;
    return h;
  }
  Decision fixed(std::uint32_t rank, std::int32_t value, std::uint32_t flags = 0) {
    return deliver({as_fixed_point(data(rank), flags), {}, bytes_of(value)}, place(rank));
  }
  Decision second(std::uint32_t rank, float value) {
    return deliver({as_second(data(rank)), {}, bytes_of(value)}, place(rank));
  }
  Decision ask_again(std::uint32_t rank, std::uint32_t op = 0) {
    wire::Header h = as_second(from_parent(PacketType::unknown), wire::kFlagBypass);
    h.dtype = wire::DType::none;
    h.op = op;
    h.origin = rank;
    return deliver(h, parent());
  }
  Decision float_result(float value, std::uint8_t attempt = wire::kFloatRetry) {
    wire::Header h = from_parent(PacketType::result);
    h.attempt = attempt;
    h.covered = 3;
    h.dtype = wire::DType::float32;
    h.element_count = 1;
    h.flags = wire::kFlagLast | wire::kFlagVerified | wire::kFlagFloatRetry;
    return deliver({h, {}, bytes_of(value)}, parent());
  }
  void send_sum_up() {
    fixed(0, kLargest);
    EXPECT_EQ(fixed(2, 1).verdict, Verdict::sent_up);
  }
};

TEST_F(LeafRetryTest, O10_AMarkGoesUpWithTheSum) {
  fixed(0, kLargest);
  fixed(2, 1);
  EXPECT_EQ(up().at(0).header.flags & wire::kFlagOverflow, wire::kFlagOverflow) << "found here";
  SetUp();
  fixed(0, 0, wire::kFlagOverflow);
  fixed(2, 1);
  EXPECT_EQ(up().at(0).header.flags & wire::kFlagOverflow, wire::kFlagOverflow) << "of a rank";
}

TEST_F(LeafRetryTest, O10_ASecondAttemptPassesBothWays) {
  for (const auto release : {config::Release::sent, config::Release::returned}) {
    begin(release);
    send_sum_up();
    EXPECT_EQ(second(2, 0.5F).reason, DropReason::stale_seq) << "nobody has asked yet";
    ASSERT_EQ(ask_again(2).verdict, Verdict::answered);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].peer, place(2));
    EXPECT_EQ(sent_[0].header.attempt, wire::kFloatRetry);
    EXPECT_EQ(sent_[0].header.flags & wire::kFlagBypass, 0u);
    EXPECT_EQ(counters().slots_open.get(), 0u);

    EXPECT_EQ(second(2, 0.5F).verdict, Verdict::forwarded);
    ASSERT_EQ(up().size(), 1u);
    EXPECT_EQ(up()[0].header.type, PacketType::contribution);
    EXPECT_EQ(up()[0].header.attempt, wire::kFloatRetry);
    EXPECT_EQ(up()[0].header.origin, 2u);
    EXPECT_EQ(up()[0].header.flags & wire::kFlagBypass, wire::kFlagBypass);
    EXPECT_EQ(up()[0].elements<float>(), std::vector<float>{0.5F});

    EXPECT_EQ(float_result(2.5F, 0).reason, DropReason::stale_epoch);
    EXPECT_EQ(float_result(2.5F).verdict, Verdict::completed);
    ASSERT_EQ(to(Outgoing::To::job_group).size(), 1u);
    const Sent told = to(Outgoing::To::job_group)[0];
    EXPECT_EQ(told.header.attempt, wire::kFloatRetry);
    EXPECT_EQ(told.header.dtype, wire::DType::float32);
    EXPECT_EQ(told.header.encoding, wire::Encoding::plain);
    EXPECT_EQ(told.elements<float>(), std::vector<float>{2.5F});
    probe(0, 0);
    EXPECT_EQ(sent_.at(0).elements<float>(), std::vector<float>{2.5F}) << "the result is kept";
  }
}

TEST_F(LeafRetryTest, O10_SecondAttemptsOfNothingAreRefused) {
  EXPECT_EQ(ask_again(2).reason, DropReason::stale_epoch) << "nothing was sent";
  send_sum_up();
  EXPECT_EQ(ask_again(2, 5).reason, DropReason::stale_epoch) << "of another op";
  EXPECT_EQ(float_result(1).reason, DropReason::stale_epoch) << "nobody has asked";
  EXPECT_TRUE(sent_.empty());
  ask_again(2);
  EXPECT_EQ(result(0, 7).reason, DropReason::stale_epoch) << "of the first attempt";
}

// Leaf 201 with ranks 0 and 2, and rank 1.
class RootRetryTest : public RootTest {
 protected:
  void SetUp() override {
    RootTest::SetUp();
    run_epoch();
  }
  void overflow() {
    aggregate(as_fixed_point(sum_header(0), wire::kFlagOverflow), kLargest);
    wire::Header h = as_fixed_point(data_header(1, 0, 1));
    h.fan_in = 2;
    const std::int32_t value = -1;
    EXPECT_EQ(deliver({h, {}, bytes_of(value)}, worker()).verdict, Verdict::forwarded);
  }
  wire::Header relayed(std::uint32_t flags = 0) const {
    wire::Header h = sum_header(0);
    h.type = PacketType::contribution;
    h.origin = 2;
    h.covered = 1;
    h.flags = wire::kFlagLast | wire::kFlagBypass | flags;
    return h;
  }
  bool from_host(const wire::Header& h, std::span<const std::byte> payload = {}) {
    sent_.clear();
    const bool accepted = engine_->on_host_packet({h, {}, payload}, now_, *outbox_);
    collect();
    return accepted;
  }
  bool ask_again(std::uint32_t rank) {
    wire::Header h = as_second(header(PacketType::unknown, rank));
    h.dtype = wire::DType::none;
    return from_host(h);
  }
};

// Sticky (rule 12): the sum here is in range, that of the leaf was not.
TEST_F(RootRetryTest, O10_AMarkFromBelowStays) {
  overflow();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::overflow);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, wire::kFlagOverflow);
}

TEST_F(RootRetryTest, O10_ASecondAttemptPassesBothWays) {
  overflow();
  const float value = 0.5F;
  EXPECT_EQ(deliver({as_second(relayed()), {}, bytes_of(value)}, leaf()).reason,
            DropReason::stale_seq)
      << "nobody has asked yet";
  ASSERT_TRUE(ask_again(2));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].peer, leaf());
  EXPECT_EQ(sent_[0].header.attempt, wire::kFloatRetry);
  EXPECT_EQ(sent_[0].header.origin, 2u);
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagBypass, wire::kFlagBypass);

  EXPECT_EQ(deliver({as_second(relayed()), {}, bytes_of(value)}, leaf()).verdict,
            Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.origin, 2u);
  EXPECT_EQ(sent_[0].elements<float>(), std::vector<float>{0.5F});

  wire::Header h = as_second(header(PacketType::result, 0));
  h.flags = wire::kFlagLast | wire::kFlagVerified | wire::kFlagFloatRetry;
  h.covered = workers_;
  h.element_count = 1;
  ASSERT_TRUE(from_host(h, bytes_of(value)));
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::job_group);
  EXPECT_EQ(sent_.at(0).header.attempt, wire::kFloatRetry);
}

// Found by an hour of simulation: a switch may hear of the chunk by an announcement alone, because
// what the leaf sent on was lost. Then the second attempt says what the chunk is.
TEST_F(RootRetryTest, O10_ASecondAttemptDescribesWhatWasOnlyAnnounced) {
  wire::Header said = as_fixed_point(from_leaf(PacketType::escalation));
  said.flags = 0;
  said.reason = wire::Reason::deadline;
  said.dtype = wire::DType::int32;
  ASSERT_EQ(deliver(said, leaf()).verdict, Verdict::forwarded);
  ASSERT_TRUE(ask_again(2));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].peer, leaf());

  const float value = 0.5F;
  const std::array<float, 17> more{};  // than a chunk of this job has
  wire::Header h = as_second(relayed());
  h.element_count = more.size();
  EXPECT_EQ(deliver({h, {}, std::as_bytes(std::span(more))}, leaf()).reason,
            DropReason::payload_too_large);
  EXPECT_EQ(deliver({as_second(relayed()), {}, bytes_of(value)}, leaf()).verdict,
            Verdict::forwarded);
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_.at(0).elements<float>(), std::vector<float>{0.5F});

  h = as_second(header(PacketType::result, 0));
  h.flags = wire::kFlagLast | wire::kFlagVerified | wire::kFlagFloatRetry;
  h.covered = workers_;
  h.element_count = 1;
  ASSERT_TRUE(from_host(h, bytes_of(value)));
  EXPECT_EQ(sent_.at(0).to, Outgoing::To::job_group);
  EXPECT_EQ(sent_.at(0).elements<float>(), std::vector<float>{0.5F});
}

// A sum of the first attempt is of no use, though it did not come: the leaf is told to wait.
TEST_F(RootRetryTest, O10_ALeafThatAsksForItsSumIsNotAskedForItInASecondAttempt) {
  wire::Header h = as_fixed_point(data_header(1, 0, 1));
  h.fan_in = 2;
  h.flags |= wire::kFlagAtPs;
  const std::int32_t value = 1;
  deliver({h, {}, bytes_of(value)}, worker());
  ASSERT_TRUE(ask_again(1));
  EXPECT_EQ(deliver(from_leaf(PacketType::probe), leaf()).verdict, Verdict::answered);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::escalation);
}

// Before and after the result; a description as floats is no disagreement.
TEST_F(RootRetryTest, O10_WhatIsLeftOfTheFirstAttemptBelowSaysNothing) {
  overflow();
  ask_again(2);
  const std::int32_t value = 5;
  const wire::Header late = as_fixed_point(relayed(wire::kFlagResend));
  EXPECT_EQ(deliver({late, {}, bytes_of(value)}, leaf()).reason, DropReason::duplicate);
  wire::Header h = as_second(header(PacketType::result, 0));
  h.flags = wire::kFlagLast | wire::kFlagVerified | wire::kFlagFloatRetry;
  h.covered = workers_;
  h.element_count = 1;
  ASSERT_TRUE(from_host(h, bytes_of(value)));
  EXPECT_EQ(deliver({late, {}, bytes_of(value)}, leaf()).reason, DropReason::duplicate);
  EXPECT_EQ(status().state, JobState::running);
}

// Rule 12: no switch sums a second attempt.
TEST_F(RootRetryTest, O10_ASumOfASecondAttemptIsRefused) {
  overflow();
  ask_again(2);
  wire::Header h = as_second(sum_header(0));
  const float value = 1;
  EXPECT_EQ(deliver({h, {}, bytes_of(value)}, leaf()).reason, DropReason::bad_type);
  h.type = PacketType::escalation;
  EXPECT_EQ(deliver({h, {}, bytes_of(value)}, leaf()).reason, DropReason::bad_type);
}

}  // namespace
}  // namespace tributary::aggregator
