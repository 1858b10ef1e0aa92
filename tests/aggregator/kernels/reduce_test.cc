// Every kernel of every instruction set against the scalar reference, bit for bit: sizes, tails,
// alignments, special values, overflow marks (O10, O11), and fused passes beside folds (T15).
#include "aggregator/kernels/reduce.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/prng.h"
#include "tests/aggregator/reduce_reference.h"

namespace tributary::aggregator {
namespace {

using reference::Bits;
using reference::Case;
using wire::DType;
using wire::ReduceOp;

constexpr std::uint64_t kSeed = 20240607;
constexpr std::byte kGuard{0xA5};
constexpr std::size_t kGuardBytes = 128;

// Guard bytes, elements at any address, guard bytes.
class GuardedArray {
 public:
  GuardedArray(std::size_t misalignment, std::size_t element_bytes, std::size_t count)
      : bytes_(64 + misalignment + element_bytes * count + 2 * kGuardBytes, kGuard),
        element_bytes_(element_bytes),
        count_(count) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = (64 - address % 64) % 64 + misalignment + kGuardBytes / 2;
  }
  GuardedArray(std::size_t misalignment, std::size_t element_bytes, const std::vector<Bits>& values)
      : GuardedArray(misalignment, element_bytes, values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(data() + i * element_bytes_, &values[i], element_bytes_);
  }
  std::byte* data() { return bytes_.data() + begin_; }
  [[nodiscard]] std::vector<Bits> values() const {
    std::vector<Bits> values(count_);
    for (std::size_t i = 0; i < count_; ++i)
      std::memcpy(&values[i], bytes_.data() + begin_ + i * element_bytes_, element_bytes_);
    return values;
  }
  [[nodiscard]] bool guards_intact() const {
    const std::size_t end = begin_ + count_ * element_bytes_;
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if ((i < begin_ || i >= end) && bytes_[i] != kGuard) return false;
    return true;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t element_bytes_;
  std::size_t count_;
  std::size_t begin_ = 0;
};

class Kernel : public ::testing::TestWithParam<Isa> {
 protected:
  // Calls check(kernels, case) for every case, under a name that failures print.
  template <typename Check>
  void for_each_case(Check check) {
    for (const Case& c : reference::all_cases()) {
      SCOPED_TRACE(reference::name_of(c) + ", seed " + std::to_string(kSeed));
      const Kernels* kernels = find_kernels(c.dtype, c.op, c.arithmetic, GetParam());
      ASSERT_NE(kernels, nullptr);
      check(*kernels, c);
      if (HasFatalFailure()) return;
    }
  }
  std::vector<Bits> random_values(DType dtype, std::size_t count) {
    std::vector<Bits> values(count);
    for (Bits& value : values) value = reference::random_value(prng_, dtype);
    return values;
  }
  std::size_t misalignment() { return prng_.below(64); }
  GuardedArray place(std::size_t element_bytes, const std::vector<Bits>& values) {
    return {misalignment(), element_bytes, values};
  }
  static std::vector<Bits> opened(const Case& c, std::vector<Bits> values) {
    for (Bits& value : values) value = reference::open(c, value);
    return values;
  }
  // acc = acc op other by the reference; true if something was saturated.
  static bool combine(const Case& c, std::vector<Bits>& acc, const std::vector<Bits>& other) {
    bool overflow = false;
    for (std::size_t i = 0; i < acc.size(); ++i)
      acc[i] = reference::combine(c, acc[i], other[i], overflow);
    return overflow;
  }
  static std::vector<Bits> finished(const Case& c, std::vector<Bits> acc, std::uint32_t divisor,
                                    bool& overflow) {
    for (Bits& value : acc) value = reference::finish(c, value, divisor, overflow);
    return acc;
  }

  // One life of an accumulator of these inputs: open, fold, merge, finish, all at new addresses.
  void check_life(const Kernels& k, const Case& c, const std::vector<Bits>& first,
                  const std::vector<Bits>& second) {
    const std::size_t n = first.size();
    GuardedArray src = place(k.wire_bytes, first);
    GuardedArray acc(misalignment(), k.acc_bytes, n);
    k.open(acc.data(), src.data(), n);
    std::vector<Bits> expected = opened(c, first);
    ASSERT_EQ(acc.values(), expected) << "open";

    GuardedArray more = place(k.wire_bytes, second);
    const bool saturated = combine(c, expected, opened(c, second));
    ASSERT_EQ(k.fold(acc.data(), more.data(), n), saturated) << "fold";
    ASSERT_EQ(acc.values(), expected) << "fold";

    const std::vector<Bits> before = expected;
    GuardedArray other = place(k.acc_bytes, before);
    const bool merged = combine(c, expected, before);
    ASSERT_EQ(k.merge(acc.data(), other.data(), n), merged) << "merge";
    ASSERT_EQ(acc.values(), expected) << "merge";

    bool narrowed = false;
    const std::uint32_t divisor = 1 + prng_.below(1000);
    const std::vector<Bits> result = finished(c, expected, divisor, narrowed);
    GuardedArray out(misalignment(), k.wire_bytes, n);
    ASSERT_EQ(k.finish(out.data(), acc.data(), n, divisor), narrowed) << "finish";
    ASSERT_EQ(out.values(), result) << "finish";
    ASSERT_EQ(acc.values(), expected) << "finish leaves the accumulator alone";
    if (k.finish_is_identity) {
      ASSERT_EQ(result, expected);
    }
    for (const GuardedArray* array : {&src, &more, &other, &acc, &out})
      ASSERT_TRUE(array->guards_intact());
  }

  Prng prng_{kSeed};
};

TEST_P(Kernel, EverySmallCountAtAnyAlignment) {
  for_each_case([&](const Kernels& k, const Case& c) {
    for (std::size_t n = 0; n <= 140 && !HasFatalFailure(); ++n) {
      SCOPED_TRACE("count " + std::to_string(n));
      check_life(k, c, random_values(c.dtype, n), random_values(c.dtype, n));
    }
  });
}

TEST_P(Kernel, CountsAroundBlocksAndPayloads) {
  for_each_case([&](const Kernels& k, const Case& c) {
    for (const std::size_t n : {255u, 511u, 513u, 1023u, 1025u, 2049u}) {
      SCOPED_TRACE("count " + std::to_string(n));
      check_life(k, c, random_values(c.dtype, n), random_values(c.dtype, n));
      if (HasFatalFailure()) return;
    }
  });
}

TEST_P(Kernel, EverySpecialValueWithEveryOther) {
  for_each_case([&](const Kernels& k, const Case& c) {
    std::vector<Bits> first;
    std::vector<Bits> second;
    for (const Bits a : reference::special_values(c.dtype)) {
      for (const Bits b : reference::special_values(c.dtype)) {
        first.push_back(a);
        second.push_back(b);
      }
    }
    check_life(k, c, first, second);
  });
}

TEST_P(Kernel, EverySmallFloatWidensAndNarrows) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Kernels* k = find_kernels(dtype, ReduceOp::sum, Arithmetic::saturating, GetParam());
    const Case c{dtype, ReduceOp::sum, Arithmetic::saturating};
    std::vector<Bits> all(1 << 16);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    check_life(*k, c, all, std::vector<Bits>(all.size(), 0));
    // Neighbours in float32 of every value, and of the middle between two of them.
    std::vector<Bits> wide;
    for (const Bits bits : all) {
      const Bits value = reference::open(c, bits);
      const Bits half = dtype == DType::float16 ? 1u << 12 : 1u << 15;
      for (const Bits v : {value - 1, value + 1, value + half - 1, value + half, value + half + 1})
        wide.push_back(v & 0xFFFFFFFF);
    }
    GuardedArray acc = place(4, wide);
    GuardedArray out(misalignment(), 2, wide.size());
    bool overflow = false;
    EXPECT_FALSE(k->finish(out.data(), acc.data(), wide.size(), 1));
    EXPECT_EQ(out.values(), finished(c, wide, 1, overflow));
  }
}

// Any number of sources, and the fused pass is what one by one gives, marks too.
TEST_P(Kernel, FusedPassIsOpenAndFoldsInOrder) {
  for_each_case([&](const Kernels& k, const Case& c) {
    for (std::size_t sources = 1; sources <= 18; ++sources) {
      const std::size_t n = sources % 4 == 0 ? 700 + sources : 37 + 5 * sources;
      std::vector<GuardedArray> inputs;
      std::vector<const void*> pointers;
      for (std::size_t s = 0; s < sources; ++s)
        inputs.push_back(place(k.wire_bytes, random_values(c.dtype, n)));
      for (GuardedArray& input : inputs) pointers.push_back(input.data());

      GuardedArray streamed(misalignment(), k.acc_bytes, n);
      k.open(streamed.data(), pointers[0], n);
      bool saturated = false;
      for (std::size_t s = 1; s < sources; ++s)
        saturated = k.fold(streamed.data(), pointers[s], n) || saturated;

      GuardedArray fused(misalignment(), k.acc_bytes, n);
      ASSERT_EQ(k.fuse(fused.data(), pointers.data(), sources, n), saturated) << sources;
      ASSERT_EQ(fused.values(), streamed.values()) << sources << " sources";
      ASSERT_TRUE(fused.guards_intact());
    }
  });
}

// And so is one that adds to what is there, whose overflow is taken back by element.
TEST_P(Kernel, FoldingAllIsFoldsInOrder) {
  for_each_case([&](const Kernels& k, const Case& c) {
    for (std::size_t sources = 1; sources <= 18; ++sources) {
      const std::size_t n = sources % 4 == 0 ? 700 + sources : 37 + 5 * sources;
      const std::vector<Bits> begin = opened(c, random_values(c.dtype, n));
      std::vector<GuardedArray> inputs;
      std::vector<const void*> pointers;
      for (std::size_t s = 0; s < sources; ++s)
        inputs.push_back(place(k.wire_bytes, random_values(c.dtype, n)));
      for (GuardedArray& input : inputs) pointers.push_back(input.data());

      GuardedArray one_by_one = place(k.acc_bytes, begin);
      bool saturated = false;
      for (const void* const source : pointers)
        saturated = k.fold(one_by_one.data(), source, n) || saturated;

      GuardedArray all = place(k.acc_bytes, begin);
      ASSERT_EQ(k.fold_all(all.data(), pointers.data(), sources, n), saturated) << sources;
      ASSERT_EQ(all.values(), one_by_one.values()) << sources << " sources";
      ASSERT_TRUE(all.guards_intact());
    }
  });
}

TEST_P(Kernel, FinishesInPlace) {
  for_each_case([&](const Kernels& k, const Case& c) {
    for (const std::size_t n : {1u, 63u, 1500u, 5000u}) {
      const std::vector<Bits> values = opened(c, random_values(c.dtype, n));
      GuardedArray acc = place(k.acc_bytes, values);
      GuardedArray out(0, k.wire_bytes, n);
      const bool narrowed = k.finish(out.data(), acc.data(), n, 7);
      ASSERT_EQ(k.finish(acc.data(), acc.data(), n, 7), narrowed);
      ASSERT_EQ(std::memcmp(acc.data(), out.data(), n * k.wire_bytes), 0) << "count " << n;
      ASSERT_TRUE(acc.guards_intact());
    }
  });
}

// A single saturated element anywhere is marked, and nothing else is (O10).
TEST_P(Kernel, MarksTheOneElementThatOverflows) {
  for (const DType dtype :
       {DType::int16, DType::int32, DType::int64, DType::uint32, DType::uint64}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod}) {
      const Kernels* k = find_kernels(dtype, op, Arithmetic::saturating, GetParam());
      const Bits largest = reference::special_values(dtype)[dtype >= DType::uint8 ? 6 : 3];
      constexpr std::size_t kCount = 131;
      for (std::size_t at = 0; at <= kCount; ++at) {
        std::vector<Bits> values(kCount, 1);
        std::vector<Bits> others(kCount, 2);
        if (at < kCount) values[at] = largest;
        GuardedArray acc = place(k->wire_bytes, values);
        GuardedArray src = place(k->wire_bytes, others);
        ASSERT_EQ(k->fold(acc.data(), src.data(), kCount), at < kCount)
            << wire::name_of(dtype) << " " << wire::name_of(op) << " at " << at;
        if (at < kCount) {
          ASSERT_EQ(acc.values()[at], largest);
        }
      }
    }
  }
}

// 300 workers' int8 pass through 32 bits: no early saturation, one at the end.
TEST_P(Kernel, SmallIntegersSaturateOnceAtTheEnd) {
  const Kernels* k = find_kernels(DType::int8, ReduceOp::sum, Arithmetic::saturating, GetParam());
  const Kernels* modular =
      find_kernels(DType::int8, ReduceOp::sum, Arithmetic::modular, GetParam());
  std::vector<std::int8_t> plus(100, 127);
  std::vector<std::int8_t> minus(100, -127);
  std::vector<std::int32_t> acc(100);
  k->open(acc.data(), plus.data(), acc.size());
  for (int i = 0; i < 149; ++i) EXPECT_FALSE(k->fold(acc.data(), plus.data(), acc.size()));
  std::vector<std::int8_t> result(100);
  EXPECT_TRUE(k->finish(result.data(), acc.data(), acc.size(), 1));
  EXPECT_EQ(result, plus);
  EXPECT_FALSE(modular->finish(result.data(), acc.data(), acc.size(), 1));
  EXPECT_EQ(result[99], static_cast<std::int8_t>(150 * 127));
  for (int i = 0; i < 150; ++i) EXPECT_FALSE(k->fold(acc.data(), minus.data(), acc.size()));
  EXPECT_FALSE(k->finish(result.data(), acc.data(), acc.size(), 1));
  EXPECT_EQ(result, std::vector<std::int8_t>(100, 0));
}

std::vector<Isa> available_isas() {
  std::vector<Isa> list;
  for (const Isa isa : kAllIsas)
    if (isa_available(isa)) list.push_back(isa);
  return list;
}
INSTANTIATE_TEST_SUITE_P(All, Kernel, ::testing::ValuesIn(available_isas()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST(FindKernels, RefusesInvalidPairsAndUnavailableSets) {
  for (int d = 0; d <= wire::kDTypeMax + 1; ++d) {
    for (int o = 0; o <= wire::kReduceOpMax + 1; ++o) {
      const auto dtype = static_cast<DType>(d);
      const auto op = static_cast<ReduceOp>(o);
      for (const Isa isa : kAllIsas) {
        const bool expected = wire::why_invalid(dtype, op) == nullptr && isa_available(isa);
        EXPECT_EQ(find_kernels(dtype, op, Arithmetic::saturating, isa) != nullptr, expected)
            << d << " " << o << " " << name_of(isa);
      }
    }
  }
}

TEST(FindKernels, AccumulatorsAreWideWhereTheTypeIsTooSmall) {
  for (const Case& c : reference::all_cases()) {
    const Kernels* k = find_kernels(c.dtype, c.op, c.arithmetic);
    const bool arithmetic =
        c.op == ReduceOp::sum || c.op == ReduceOp::prod || c.op == ReduceOp::mean;
    const bool small =
        wire::size_of(c.dtype) == 1 || (wire::is_float(c.dtype) && wire::size_of(c.dtype) == 2);
    EXPECT_EQ(k->wire_bytes, wire::size_of(c.dtype)) << reference::name_of(c);
    EXPECT_EQ(k->acc_bytes, arithmetic && small ? 4 : k->wire_bytes) << reference::name_of(c);
    EXPECT_EQ(k->finish_is_identity, k->acc_bytes == k->wire_bytes && c.op != ReduceOp::mean)
        << reference::name_of(c);
  }
}

}  // namespace
}  // namespace tributary::aggregator
