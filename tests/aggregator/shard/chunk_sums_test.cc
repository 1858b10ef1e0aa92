// How sums are made: every type, declared orders, collected or streamed, overflow (T4, T14, T15,
// O10, O11; protocol rules 11 and 12).
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/prng.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::DType;
using wire::ReduceOp;

config::Bracket rank(std::uint32_t r) {
  return {{}, r};
}
config::Bracket list(std::vector<config::Bracket> items) {
  return {std::move(items), 0};
}

class SumTest : public EngineTest {
 protected:
  template <typename T>
  Decision give(std::uint32_t r, std::uint32_t seq, const std::vector<T>& v, DType dtype,
                ReduceOp op = ReduceOp::sum) {
    wire::Header h = data_header(r, seq, static_cast<std::uint16_t>(v.size()), dtype);
    h.reduce_op = op;
    return deliver({h, {}, std::as_bytes(std::span(v))}, peer(r));
  }
  // Bits of the sum when ranks arrive in this order.
  std::vector<std::uint32_t> sum_bits(const config::JobConfig& job,
                                      const std::vector<std::vector<float>>& data,
                                      const std::vector<std::uint32_t>& arrival) {
    build(test_switch({job}));
    join_all();
    for (const std::uint32_t r : arrival) give(r, 0, data[r], DType::float32);
    EXPECT_EQ(sent_.size(), 1u);
    return sent_.at(0).elements<std::uint32_t>();
  }
};

TEST_F(SumTest, SixteenBitFloatsAreRoundedOnceAtTheEnd) {
  build(3);
  join_all();
  // 2048 + 1 is 2048 in float16 (its steps are 2 there); 2048 + 1 + 1 is 2050 in float32.
  const std::uint16_t big = 0x6800;
  const std::uint16_t one = 0x3C00;
  give(0, 0, std::vector<std::uint16_t>{big}, DType::float16);
  give(1, 0, std::vector<std::uint16_t>{one}, DType::float16);
  give(2, 0, std::vector<std::uint16_t>{one}, DType::float16);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::uint16_t>(), std::vector<std::uint16_t>{0x6801});
}

TEST_F(SumTest, MeanIsDividedOnceAtTheEnd) {
  build(4);
  join_all();
  for (std::uint32_t r = 0; r < 4; ++r)
    give(r, 0, std::vector<float>{static_cast<float>(r)}, DType::float32, ReduceOp::mean);
  EXPECT_EQ(sent_.at(0).elements<float>(), std::vector<float>{1.5f});
}

// Four times 40000 is infinite in float16, in which narrow partials travel; their mean is not.
TEST_F(SumTest, NarrowPartialsHaveNoMeanOfSmallFloats) {
  config::JobConfig job = test_job(2);
  job.partials = wire::Partials::narrow;
  build(test_switch({job}));
  join_all();
  const std::vector<std::uint16_t> v = {0x78E2};
  EXPECT_EQ(give(0, 0, v, DType::float16, ReduceOp::mean).reason, DropReason::bad_reduce_op);
  EXPECT_EQ(give(0, 0, v, DType::float16).verdict, Verdict::opened);
  EXPECT_EQ(give(0, 1, std::vector<float>{1}, DType::float32, ReduceOp::mean).verdict,
            Verdict::opened);
}

// Where nothing can be early there is nothing to hold, and no memory for it.
TEST_F(SumTest, OneRankAloneNeedsNoOrder) {
  for (const auto partials : {wire::Partials::wide, wire::Partials::narrow}) {
    for (const auto trigger : {config::Trigger::streaming, config::Trigger::collect}) {
      config::JobConfig job = test_job(1);
      job.order = wire::Order::reproducible;
      job.partials = partials;
      job.trigger = trigger;
      build(test_switch({job}));
      join_all();
      EXPECT_EQ(give(0, 0, std::vector<float>{1.5F}, DType::float32).verdict, Verdict::completed);
      EXPECT_EQ(sent_.at(0).elements<float>(), std::vector<float>{1.5F});
      leave(0);
    }
  }
}

TEST_F(SumTest, LogicalOpsOfBools) {
  build(2);
  join_all();
  give(0, 0, std::vector<std::uint8_t>{0, 1, 7}, DType::boolean, ReduceOp::logical_xor);
  give(1, 0, std::vector<std::uint8_t>{0, 0, 1}, DType::boolean, ReduceOp::logical_xor);
  EXPECT_EQ(sent_.at(0).elements<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, 0}));
}

// O10, rule 12: what does not fit says so, for good.
TEST_F(SumTest, SaturationMarksTheResult) {
  build(3);
  join_all();
  const std::int32_t most = 0x7FFFFFFF;
  give(0, 0, std::vector<std::int32_t>{most, 1}, DType::int32);
  give(1, 0, std::vector<std::int32_t>{1, 1}, DType::int32);
  give(2, 0, std::vector<std::int32_t>{-5, 1}, DType::int32);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_NE(sent_[0].header.flags & wire::kFlagOverflow, 0u);
  EXPECT_EQ(counters().saturated.get(), 1u);
  probe(0, 0);  // the mark stays with the result
  EXPECT_NE(sent_.at(0).header.flags & wire::kFlagOverflow, 0u);
}

// O10: eight-bit integers are summed in 32 bits; only the result must fit.
TEST_F(SumTest, NarrowIntegersOverflowAtTheEndOnly) {
  build(3);
  join_all();
  give(0, 0, std::vector<std::int8_t>{100, 100}, DType::int8);
  give(1, 0, std::vector<std::int8_t>{100, 100}, DType::int8);
  give(2, 0, std::vector<std::int8_t>{-100, 0}, DType::int8);
  EXPECT_EQ(sent_.at(0).elements<std::int8_t>(), (std::vector<std::int8_t>{100, 127}));
  EXPECT_NE(sent_.at(0).header.flags & wire::kFlagOverflow, 0u);
}

// Masked data needs sums that wrap, and nothing is wrong with that.
TEST_F(SumTest, O11_ModularSumsWrap) {
  config::JobConfig job = test_job(2);
  job.arithmetic = wire::Arithmetic::modular;
  build(test_switch({job}));
  join_all();
  give(0, 0, std::vector<std::uint32_t>{0xFFFFFFFF}, DType::uint32);
  give(1, 0, std::vector<std::uint32_t>{3}, DType::uint32);
  EXPECT_EQ(sent_.at(0).elements<std::uint32_t>(), std::vector<std::uint32_t>{2});
  EXPECT_EQ(sent_.at(0).header.flags & wire::kFlagOverflow, 0u);
}

TEST_F(SumTest, BlockScaledRanksAgreeOnTheExponent) {
  build(2);
  join_all();
  const std::vector<std::int32_t> v = {1000};
  const auto scaled = [&](std::uint32_t r, std::uint32_t seq, std::int16_t exponent) {
    wire::Header h = data_header(r, seq, 1);
    h.encoding = wire::Encoding::block_scaled;
    h.scale_exponent = exponent;
    return deliver({h, {}, std::as_bytes(std::span(v))}, peer(r)).verdict;
  };
  scaled(0, 0, -12);
  EXPECT_EQ(scaled(1, 0, -12), Verdict::completed);
  EXPECT_EQ(sent_.at(0).header.scale_exponent, -12);
  EXPECT_EQ(sent_.at(0).header.encoding, wire::Encoding::block_scaled);
  EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{2000});
  scaled(0, 1, -12);
  EXPECT_EQ(scaled(1, 1, -11), Verdict::epoch_aborted);
}

// For any order of arrival, a reproducible job's sum has the bits of the declared order; and how it
// is made, folded as far as the order goes or collected, makes no difference.
TEST_F(SumTest, T4_T15_ReproducibleSumsHaveTheBitsOfTheDeclaredOrder) {
  constexpr std::uint32_t kRanks = 5;
  Prng prng(7);
  std::vector<std::vector<float>> data(kRanks, std::vector<float>(16));
  for (auto& v : data)
    for (float& x : v)
      x = std::ldexp(static_cast<float>(prng.below(1 << 24)), static_cast<int>(prng.below(40)));
  const auto ordered = [&](const std::vector<std::uint32_t>& ranks) {
    std::vector<std::uint32_t> bits;
    for (std::size_t i = 0; i < 16; ++i) {
      float sum = data[ranks[0]][i];
      for (std::size_t k = 1; k < ranks.size(); ++k) sum += data[ranks[k]][i];
      bits.push_back(std::bit_cast<std::uint32_t>(sum));
    }
    return bits;
  };
  std::vector<std::uint32_t> nested;  // [[3, 0, 1], [4, 2]]
  for (std::size_t i = 0; i < 16; ++i) {
    const float a = data[3][i] + data[0][i] + data[1][i];
    const float b = data[4][i] + data[2][i];
    nested.push_back(std::bit_cast<std::uint32_t>(a + b));
  }
  std::vector<std::uint32_t> arrival(kRanks);
  std::iota(arrival.begin(), arrival.end(), 0u);
  bool fast_differs = false;
  do {
    for (const auto trigger : {config::Trigger::streaming, config::Trigger::collect}) {
      config::JobConfig job = test_job(kRanks);
      job.order = wire::Order::reproducible;
      job.trigger = trigger;
      ASSERT_EQ(sum_bits(job, data, arrival), ordered({0, 1, 2, 3, 4}));
      job.bracketing = list({rank(2), rank(4), rank(0), rank(1), rank(3)});
      ASSERT_EQ(sum_bits(job, data, arrival), ordered({2, 4, 0, 1, 3}));
      job.bracketing = list({list({rank(3), rank(0), rank(1)}), list({rank(4), rank(2)})});
      ASSERT_EQ(sum_bits(job, data, arrival), nested);
    }
    fast_differs |= sum_bits(test_job(kRanks), data, arrival) != ordered({0, 1, 2, 3, 4});
  } while (std::next_permutation(arrival.begin(), arrival.end()));
  EXPECT_TRUE(fast_differs) << "the data is too tame to tell orders apart";
}

// Shards share out chunks, never what is in one: how many there are changes no bit.
TEST_F(SumTest, T15_AnOpHasTheSameBitsWithOneShardAndWithSeveral) {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::uint32_t kChunks = 24;
  constexpr std::uint16_t kElements = 16;
  Prng prng(11);
  std::vector<std::vector<float>> data(kRanks, std::vector<float>(kChunks * kElements));
  for (auto& v : data)
    for (float& x : v)
      x = std::ldexp(static_cast<float>(prng.below(1 << 24)), static_cast<int>(prng.below(40)));
  const auto bits_with = [&](std::uint8_t shards, std::uint64_t seed) {
    config::JobConfig job = test_job(kRanks);
    job.order = wire::Order::reproducible;
    job.shards = shards;
    build(test_switch({job}));
    join_all();
    Prng order(seed);
    std::vector<std::uint32_t> bits(kChunks * kElements);
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      std::vector<std::uint32_t> arrival(kRanks);
      std::iota(arrival.begin(), arrival.end(), 0u);
      for (std::uint32_t i = kRanks; i > 1; --i) std::swap(arrival[i - 1], arrival[order.below(i)]);
      for (const std::uint32_t r : arrival) {
        wire::Header h = data_header(r, chunk / shards, kElements, DType::float32);
        h.op = 0;
        h.chunk = chunk;
        h.shard = static_cast<std::uint8_t>(chunk % shards);
        h.flags = chunk + 1 == kChunks ? std::uint32_t{wire::kFlagLast} : 0u;
        const auto mine = std::span(data[r]).subspan(chunk * kElements, kElements);
        deliver({h, {}, std::as_bytes(mine)}, peer(r));
      }
      EXPECT_EQ(sent_.size(), 1u) << chunk;
      const auto sum = sent_.at(0).elements<std::uint32_t>();
      std::copy(sum.begin(), sum.end(), bits.begin() + chunk * kElements);
    }
    return bits;
  };
  const auto alone = bits_with(1, 1);
  for (const std::uint8_t shards : std::array<std::uint8_t, 4>{1, 2, 3, 16})
    EXPECT_EQ(bits_with(shards, 2 + shards), alone) << +shards;
}

// O6: what is sent again counts once, whether nothing of its chunk is here yet, some is, or all
// was: in whatever way the sum is made. Other values would show whose data was taken.
TEST_F(SumTest, O6_ResendsCountOnceBeforeWithinAndAfterAChunk) {
  struct Way {
    wire::Order order;
    config::Trigger trigger;
  };
  for (const auto [order, trigger] : {Way{wire::Order::fast, config::Trigger::streaming},
                                      Way{wire::Order::reproducible, config::Trigger::streaming},
                                      Way{wire::Order::fast, config::Trigger::collect},
                                      Way{wire::Order::reproducible, config::Trigger::collect}}) {
    config::JobConfig job = test_job(4, 4);
    job.order = order;
    job.trigger = trigger;
    build(test_switch({job}));
    join_all();
    constexpr std::uint32_t kChunks = 40;
    for (std::uint32_t seq = 0; seq < kChunks; ++seq) {
      EXPECT_EQ(contribute(2, seq, {4}, wire::kFlagResend).verdict, Verdict::opened);
      EXPECT_EQ(contribute(2, seq, {1000}, wire::kFlagResend).reason, DropReason::duplicate);
      EXPECT_EQ(contribute(0, seq, {1}).verdict, Verdict::folded);
      EXPECT_EQ(contribute(1, seq, {2}, wire::kFlagResend).verdict, Verdict::folded);
      for (const std::uint32_t r : {0u, 1u, 2u}) {
        const Decision d = contribute(r, seq, {1000}, wire::kFlagResend);
        EXPECT_EQ(d.verdict, Verdict::dropped);
        EXPECT_EQ(d.reason, DropReason::duplicate);
        EXPECT_TRUE(sent_.empty());
      }
      EXPECT_EQ(contribute(3, seq, {8}).verdict, Verdict::completed);
      ASSERT_EQ(sent_.size(), 1u);
      EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
      EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{15});
      for (std::uint32_t r = 0; r < 4; ++r) {
        EXPECT_EQ(contribute(r, seq, {1000}, wire::kFlagResend).verdict, Verdict::answered);
        ASSERT_EQ(sent_.size(), 1u);
        EXPECT_EQ(sent_[0].to, Outgoing::To::peer);
        EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{15});
      }
    }
    EXPECT_EQ(counters().contributions.get(), 4 * kChunks);
    EXPECT_EQ(counters().completions.get(), kChunks);
    EXPECT_EQ(counters().resends.get(), 10 * kChunks);
    EXPECT_EQ(counters().duplicates.get(), 8 * kChunks);
    EXPECT_EQ(counters().results_resent.get(), 4 * kChunks);
    EXPECT_EQ(counters().slots_open.get(), 0u);
  }
}

// What is held is reserved memory: a whole window of it, over and over.
TEST_F(SumTest, HeldDataNeverRunsOut) {
  for (const auto trigger : {config::Trigger::streaming, config::Trigger::collect}) {
    config::JobConfig job = test_job(3, 4);
    job.order = wire::Order::reproducible;
    job.trigger = trigger;
    build(test_switch({job}));
    join_all();
    for (std::uint32_t round = 0; round < 20; ++round) {
      for (const std::uint32_t r : {2u, 1u, 0u})
        for (std::uint32_t s = 0; s < 4; ++s)
          contribute(r, round * 4 + s, {static_cast<std::int32_t>(r + s)});
      EXPECT_EQ(counters().completions.get(), (round + 1) * 4);
    }
    contribute(2, 80, {1});
    now_ = now_ + Duration::ms(500);
    expire();  // the abort gives back what is held
    ASSERT_EQ(sent_.size(), 1u);
    join_all(1);
    for (const std::uint32_t r : {2u, 1u, 0u}) contribute(r, 0, {1});
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
  }
}

// T15, rule 11: the agreement of a broadcast or an all_gather has a type and an operation, but
// nothing to combine. Nothing of it is held where a later chunk's sum is made.
TEST_F(SumTest, T15_AnAgreementLeavesNothingBehindForLaterSums) {
  struct Way {
    wire::Order order;
    config::Trigger trigger;
  };
  const std::vector<std::vector<std::uint32_t>> arrivals = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}};
  for (const auto [order, trigger] : {Way{wire::Order::fast, config::Trigger::streaming},
                                      Way{wire::Order::reproducible, config::Trigger::streaming},
                                      Way{wire::Order::reproducible, config::Trigger::collect}})
    for (const auto kind : {wire::Collective::broadcast, wire::Collective::all_gather})
      for (const auto& arrival : arrivals) {
        config::JobConfig job = test_job(3, 4);
        job.order = order;
        job.trigger = trigger;
        build(test_switch({job}));
        join_all();
        for (std::uint32_t seq = 0; seq < 4; ++seq)
          for (const std::uint32_t r : arrival) agree(r, seq, kind, 512, 1);
        EXPECT_EQ(counters().completions.get(), 4u);
        for (std::uint32_t seq = 4; seq < 12; ++seq) {
          for (const std::uint32_t r : {0u, 1u, 2u})
            contribute(r, seq, {static_cast<std::int32_t>(10 * r + seq)});
          ASSERT_EQ(sent_.size(), 1u);
          EXPECT_EQ(sent_[0].elements<std::int32_t>(),
                    std::vector<std::int32_t>{static_cast<std::int32_t>(30 + 3 * seq)});
        }
      }
}

}  // namespace
}  // namespace tributary::aggregator
