// Every kernel against a scalar reference, over sizes, alignments and special values.
#include "aggregator/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/prng.h"

namespace tributary::aggregator {
namespace {

using wire::DType;
using wire::ReduceOp;

constexpr std::uint64_t kSeed = 20240607;
constexpr std::byte kGuard{0xA5};
constexpr std::size_t kGuardBytes = 128;

std::vector<Isa> available_isas() {
  std::vector<Isa> list;
  for (const Isa isa : kAllIsas)
    if (isa_available(isa)) list.push_back(isa);
  return list;
}

std::uint32_t reference_sum(DType dtype, std::uint32_t a, std::uint32_t b) {
  if (dtype == DType::int32) return a + b;
  // volatile: one rounding, to single, whatever the compiler would like to do.
  volatile float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  return std::bit_cast<std::uint32_t>(float{sum});
}

bool is_nan(std::uint32_t bits) {
  return std::isnan(std::bit_cast<float>(bits));
}

// Guard bytes, `count` elements at any address, guard bytes.
class GuardedArray {
 public:
  GuardedArray(std::size_t misalignment, std::size_t count)
      : bytes_(64 + misalignment + count * 4 + 2 * kGuardBytes, kGuard), count_(count) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = (64 - address % 64) % 64 + misalignment + kGuardBytes / 2;
  }
  std::byte* data() { return bytes_.data() + begin_; }
  [[nodiscard]] std::uint32_t at(std::size_t i) const {
    std::uint32_t v = 0;
    std::memcpy(&v, bytes_.data() + begin_ + i * 4, sizeof v);
    return v;
  }
  void set(std::size_t i, std::uint32_t v) { std::memcpy(data() + i * 4, &v, sizeof v); }
  [[nodiscard]] bool guards_intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if ((i < begin_ || i >= begin_ + count_ * 4) && bytes_[i] != kGuard) return false;
    return true;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_;
  std::size_t begin_;
};

class Kernel : public ::testing::TestWithParam<std::tuple<Isa, DType>> {
 protected:
  void SetUp() override {
    std::tie(isa_, dtype_) = GetParam();
    sum_ = find_reduce(dtype_, ReduceOp::sum, isa_);
    ASSERT_NE(sum_, nullptr);
  }

  void check(std::size_t count, std::size_t acc_offset, std::size_t in_offset) {
    GuardedArray acc(acc_offset, count);
    GuardedArray in(in_offset, count);
    std::vector<std::uint32_t> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto a = static_cast<std::uint32_t>(prng_.next());
      const auto b = static_cast<std::uint32_t>(prng_.next());
      acc.set(i, a);
      in.set(i, b);
      expected[i] = reference_sum(dtype_, a, b);
    }
    sum_(acc.data(), in.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      if (dtype_ == DType::float32 && is_nan(expected[i])) {
        ASSERT_TRUE(is_nan(acc.at(i))) << where(count, acc_offset, in_offset, i);
      } else {
        ASSERT_EQ(acc.at(i), expected[i]) << where(count, acc_offset, in_offset, i);
      }
    }
    ASSERT_TRUE(acc.guards_intact()) << where(count, acc_offset, in_offset, count);
    ASSERT_TRUE(in.guards_intact());
  }

  Isa isa_ = Isa::portable;
  DType dtype_ = DType::none;
  ReduceFunction sum_ = nullptr;

 private:
  static std::string where(std::size_t count, std::size_t acc, std::size_t in, std::size_t i) {
    return "seed " + std::to_string(kSeed) + ", count " + std::to_string(count) + ", offsets " +
           std::to_string(acc) + " and " + std::to_string(in) + ", element " + std::to_string(i);
  }
  Prng prng_{kSeed};
};

TEST_P(Kernel, SumsEverySmallCountAtEveryElementAlignment) {
  for (std::size_t count = 0; count <= 130; ++count)
    for (std::size_t offset = 0; offset < 64; offset += 4) check(count, offset, (offset * 5) % 64);
}

TEST_P(Kernel, SumsAtByteAlignments) {
  for (std::size_t acc = 0; acc < 16; ++acc)
    for (std::size_t in = 0; in < 16; ++in) check(67, acc, in);
}

TEST_P(Kernel, SumsPayloadSizedCounts) {
  for (const std::size_t count :
       {256u, 257u, 511u, 1000u, 1023u, 1024u, 1025u, 2047u, 2048u, 2049u})
    for (const std::size_t offset : {0u, 4u, 22u, 33u, 63u}) check(count, offset, 63 - offset);
}

TEST_P(Kernel, SumsSpecialValues) {
  using Limits = std::numeric_limits<float>;
  std::vector<std::uint32_t> values = {0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF};
  for (const float f : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::max(),
                        Limits::lowest(), Limits::min(), Limits::denorm_min(), -0.0f, 1.0f, -1.0f})
    values.push_back(std::bit_cast<std::uint32_t>(f));
  const std::size_t pairs = values.size() * values.size();
  GuardedArray acc(0, pairs);
  GuardedArray in(0, pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    acc.set(i, values[i / values.size()]);
    in.set(i, values[i % values.size()]);
  }
  sum_(acc.data(), in.data(), pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::uint32_t expected =
        reference_sum(dtype_, values[i / values.size()], values[i % values.size()]);
    if (dtype_ == DType::float32 && is_nan(expected)) {
      EXPECT_TRUE(is_nan(acc.at(i))) << "pair " << i;
    } else {
      EXPECT_EQ(acc.at(i), expected) << "pair " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernel,
                         ::testing::Combine(::testing::ValuesIn(available_isas()),
                                            ::testing::Values(DType::int32, DType::float32)),
                         [](const auto& instance) {
                           return std::string(name_of(std::get<0>(instance.param))) + "_" +
                                  wire::name_of(std::get<1>(instance.param));
                         });

TEST(FindReduce, RefusesWhatHasNoKernel) {
  EXPECT_EQ(find_reduce(DType::float64, ReduceOp::sum), nullptr);
  EXPECT_EQ(find_reduce(DType::none, ReduceOp::sum), nullptr);
  EXPECT_EQ(find_reduce(DType::int32, ReduceOp::max), nullptr);
  for (const Isa isa : kAllIsas)
    EXPECT_EQ(find_reduce(DType::int32, ReduceOp::sum, isa) != nullptr, isa_available(isa));
}

}  // namespace
}  // namespace tributary::aggregator
