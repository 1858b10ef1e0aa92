#include "completion/engine/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/prng.h"

namespace tributary::completion {
namespace {

using aggregator::Kernels;
using Bytes = std::vector<std::byte>;

constexpr std::uint16_t kElements = 13;

// Contributions of a chunk, some of them summed beforehand, as a switch would.
class EvaluateTest : public ::testing::Test {
 protected:
  void build(wire::DType dtype, wire::ReduceOp op, wire::Arithmetic arithmetic,
             std::uint32_t workers, wire::Partials partials = wire::Partials::wide) {
    JobLimits limits;
    limits.id = 7;
    limits.workers = workers;
    limits.window = 1;
    limits.piece_bytes = kElements * 8;
    limits.bytes = least_bytes(limits);
    limits.arithmetic = arithmetic;
    limits.partials = partials;
    job_ = std::make_unique<Job>(limits);
    job_->start(1, 0, 0);
    aggregator::ChunkDescription d;
    d.dtype = dtype;
    d.reduce_op = op;
    d.element_count = kElements;
    chunk_ = job_->open(0, 0, d, {});
    chunk_->description = d;
    kernels_ = job_->kernels_of(d);
    ASSERT_NE(kernels_, nullptr);
  }
  // Small numbers of either sign, so that float sums round and integer sums stay in range.
  Bytes contribution(Prng& prng) const {
    Bytes bytes(kElements * kernels_->wire_bytes);
    for (auto& b : bytes) b = static_cast<std::byte>(prng.next());
    const wire::DType dtype = chunk_->description.dtype;
    for (std::size_t i = 0; i < kElements; ++i) {
      std::byte* at = bytes.data() + i * kernels_->wire_bytes;
      const auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
      const auto n = static_cast<float>(static_cast<int>(prng.below(2000)) - 1000) / 7.0F;
      if (dtype == wire::DType::float32) put(n);
      if (dtype == wire::DType::float64) put(static_cast<double>(n) / 3.0);
      // Around 1: exponent bits fixed, mantissa and sign random.
      const auto r = static_cast<std::uint16_t>(prng.next());
      if (dtype == wire::DType::float16) put(static_cast<std::uint16_t>((r & 0x83FF) | 0x3C00));
      if (dtype == wire::DType::bfloat16) put(static_cast<std::uint16_t>((r & 0x807F) | 0x3F80));
    }
    return bytes;
  }
  // The sum of ranks in order, before it is finished.
  Bytes sum(const std::vector<Bytes>& all, const std::vector<std::uint32_t>& ranks) const {
    Bytes acc(kElements * kernels_->acc_bytes);
    kernels_->open(acc.data(), all[ranks[0]].data(), kElements);
    for (std::size_t i = 1; i < ranks.size(); ++i)
      kernels_->fold(acc.data(), all[ranks[i]].data(), kElements);
    return acc;
  }
  Bytes finished(Bytes acc, std::uint32_t divisor) const {
    Bytes out(kElements * kernels_->wire_bytes);
    kernels_->finish(out.data(), acc.data(), kElements, divisor);
    return out;
  }
  void hold(const std::vector<std::uint32_t>& ranks, const Bytes& payload, bool wide) {
    Piece& piece = *job_->take_piece();
    for (const std::uint32_t r : ranks) insert(piece.ranks, r);
    piece.wide = wide;
    piece.payload_bytes = static_cast<std::uint32_t>(payload.size());
    std::memcpy(piece.buffer.data(), payload.data(), payload.size());
    job_->join(*chunk_, piece);
  }

  std::unique_ptr<Job> job_;
  Chunk* chunk_ = nullptr;
  const Kernels* kernels_ = nullptr;
};

// One pass over the contributions, or a prefix that a switch has summed and the rest: the same bits
// as adding them up in rank order, for every type, op and way of counting integers.
TEST_F(EvaluateTest, APrefixAndSinglesGiveTheBitsOfTheDeclaredOrder) {
  Prng prng(20);
  for (std::uint8_t t = 1; t <= wire::kDTypeMax; ++t) {
    for (std::uint8_t o = 1; o <= wire::kReduceOpMax; ++o) {
      const auto dtype = static_cast<wire::DType>(t);
      const auto op = static_cast<wire::ReduceOp>(o);
      if (wire::why_invalid(dtype, op) != nullptr) continue;
      for (std::uint32_t workers = 1; workers <= 7; ++workers) {
        for (std::uint32_t prefix = 0; prefix <= workers; ++prefix) {
          SCOPED_TRACE(std::string(wire::name_of(dtype)) + " " + wire::name_of(op) + " " +
                       std::to_string(prefix) + "/" + std::to_string(workers));
          build(dtype, op, wire::Arithmetic::modular, workers);
          std::vector<Bytes> all;
          std::vector<std::uint32_t> ranks;
          for (std::uint32_t r = 0; r < workers; ++r) {
            all.push_back(contribution(prng));
            ranks.push_back(r);
          }
          const Bytes expected = finished(sum(all, ranks), workers);
          for (std::uint32_t r = workers; r-- > prefix;) hold({r}, all[r], false);
          if (prefix > 0) {
            ranks.resize(prefix);
            hold(ranks, sum(all, ranks), true);
          }
          const Evaluation done = evaluate(*job_, *chunk_, kernels_);
          EXPECT_FALSE(done.overflow);
          const auto payload = done.result->payload();
          ASSERT_EQ(Bytes(payload.begin(), payload.end()), expected);
        }
      }
    }
  }
}

TEST_F(EvaluateTest, SaturationOnTheWayMarksTheResult) {
  for (const bool with_aggregate : {false, true}) {
    build(wire::DType::int16, wire::ReduceOp::sum, wire::Arithmetic::saturating, 3);
    std::vector<std::int16_t> v(kElements, 20'000);
    const auto bytes = std::as_bytes(std::span(v));
    const Bytes one(bytes.begin(), bytes.end());
    hold({0}, one, with_aggregate);
    hold({1}, one, false);
    for (auto& x : v) x = -20'000;
    hold({2}, Bytes(bytes.begin(), bytes.end()), false);
    EXPECT_TRUE(evaluate(*job_, *chunk_, kernels_).overflow) << with_aggregate;
  }
}

// Sums of int8 have room in 32 bits; only the narrowing can overflow.
TEST_F(EvaluateTest, NarrowingOverflowMarksTheResult) {
  build(wire::DType::int8, wire::ReduceOp::sum, wire::Arithmetic::saturating, 3);
  hold({0}, Bytes(kElements, std::byte{100}), false);
  hold({1}, Bytes(kElements, std::byte{100}), false);
  hold({2}, Bytes(kElements, std::byte{0x9C}), false);  // -100
  const Evaluation fine = evaluate(*job_, *chunk_, kernels_);
  EXPECT_FALSE(fine.overflow);
  EXPECT_EQ(fine.result->payload()[0], std::byte{100});

  build(wire::DType::int8, wire::ReduceOp::sum, wire::Arithmetic::saturating, 2);
  hold({0}, Bytes(kElements, std::byte{100}), false);
  hold({1}, Bytes(kElements, std::byte{100}), false);
  EXPECT_TRUE(evaluate(*job_, *chunk_, kernels_).overflow);
}

TEST_F(EvaluateTest, WithoutKernelsTheOnePieceIsTheResult) {
  build(wire::DType::int32, wire::ReduceOp::sum, wire::Arithmetic::saturating, 1);
  hold({0}, Bytes(8, std::byte{5}), false);
  const Evaluation done = evaluate(*job_, *chunk_, nullptr);
  EXPECT_EQ(done.result->payload().size(), 8u);
  EXPECT_EQ(done.result->payload()[7], std::byte{5});
  EXPECT_EQ(job_->kernels_of(aggregator::ChunkDescription()), nullptr);
}

}  // namespace
}  // namespace tributary::completion
