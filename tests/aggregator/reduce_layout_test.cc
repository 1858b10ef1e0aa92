// Every kernel of every instruction set where its arrays lie: each alignment of what is read with
// each of what is written, and each tail of a fused pass. All that is compared with is made once,
// by the scalar reference; what is done to so many elements is what is done to the first of more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "aggregator/kernels/reduce.h"
#include "core/prng.h"
#include "tests/aggregator/reduce_reference.h"

namespace tributary::aggregator {
namespace {

using reference::Bits;
using reference::Case;

constexpr std::uint64_t kSeed = 20240608;
constexpr std::size_t kAlignments = 64;
// Four AVX-512 registers of the smallest elements that are not widened, and a tail of each length
// behind them.
constexpr std::size_t kMaxCount = 4 * 64 + 64;
constexpr std::size_t kMaxSources = 17;
constexpr std::uint32_t kDivisor = 5;
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kStep = 37;  // one thread: minutes, for races that cannot be
#else
constexpr std::size_t kStep = 1;
#endif

// Elements as bytes.
std::vector<std::byte> packed(const std::vector<Bits>& values, std::size_t element_bytes) {
  std::vector<std::byte> bytes(values.size() * element_bytes);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(bytes.data() + i * element_bytes, &values[i], element_bytes);
  return bytes;
}

// Memory in which an array begins at any alignment, between bytes that must stay as they are.
class Place {
 public:
  std::byte* put(std::size_t alignment, const std::byte* from, std::size_t bytes) {
    std::memset(memory_, kGuard, sizeof memory_);
    begin_ = kGuardBytes + alignment;
    bytes_ = bytes;
    if (from != nullptr) std::memcpy(memory_ + begin_, from, bytes);
    return memory_ + begin_;
  }
  [[nodiscard]] bool holds(const std::vector<std::byte>& expected) const {
    return std::memcmp(memory_ + begin_, expected.data(), bytes_) == 0;
  }
  [[nodiscard]] bool guards_intact() const {
    static const std::vector<std::byte> guards(kGuardBytes + kAlignments, std::byte{kGuard});
    return std::memcmp(memory_, guards.data(), begin_) == 0 &&
           std::memcmp(memory_ + begin_ + bytes_, guards.data(), kGuardBytes) == 0;
  }

 private:
  static constexpr int kGuard = 0xA5;
  static constexpr std::size_t kGuardBytes = 64;
  alignas(64) std::byte memory_[kMaxCount * 8 + 2 * kGuardBytes + kAlignments];
  std::size_t begin_ = 0;
  std::size_t bytes_ = 0;
};

// What the reference makes of some sources from left to right, and of how many elements there is a
// saturated one among the first.
struct Expected {
  std::vector<std::byte> acc;
  std::size_t first_saturated = kMaxCount;
  [[nodiscard]] bool saturated(std::size_t count) const { return count > first_saturated; }
};

class Layout : public ::testing::TestWithParam<Isa> {
 protected:
  template <typename Check>
  void for_each_case(Check check) {
    for (const Case& c : reference::all_cases()) {
      SCOPED_TRACE(reference::name_of(c) + ", seed " + std::to_string(kSeed));
      const Kernels* const k = find_kernels(c.dtype, c.op, c.arithmetic, GetParam());
      ASSERT_NE(k, nullptr);
      for (auto& source : values_) {
        source.resize(kMaxCount);
        for (Bits& value : source) value = reference::random_value(prng_, c.dtype);
      }
      check(*k, c);
      if (HasFatalFailure()) return;
    }
  }

  static std::vector<Bits> opened(const Case& c, std::vector<Bits> values) {
    for (Bits& value : values) value = reference::open(c, value);
    return values;
  }
  // The accumulator of the first so many sources, as elements; marks what saturates on the way.
  std::vector<Bits> folded(const Case& c, std::size_t sources, Expected& expected) const {
    std::vector<Bits> acc = opened(c, values_[0]);
    for (std::size_t s = 1; s < sources; ++s) combine(c, acc, opened(c, values_[s]), expected);
    return acc;
  }
  static void combine(const Case& c, std::vector<Bits>& acc, const std::vector<Bits>& other,
                      Expected& expected) {
    for (std::size_t i = 0; i < acc.size(); ++i) {
      bool overflow = false;
      acc[i] = reference::combine(c, acc[i], other[i], overflow);
      if (overflow) expected.first_saturated = std::min(expected.first_saturated, i);
    }
  }
  [[nodiscard]] Expected after(const Kernels& k, const Case& c, std::size_t sources) const {
    Expected e;
    e.acc = packed(folded(c, sources, e), k.acc_bytes);
    return e;
  }

  Prng prng_{kSeed};
  std::vector<std::vector<Bits>> values_ = std::vector<std::vector<Bits>>(kMaxSources);
  Place to_;
  Place from_;
};

// The counts pass through all those whose tails differ, so each meets most alignments.
TEST_P(Layout, EveryAlignmentOfBothSides) {
  for_each_case([&](const Kernels& k, const Case& c) {
    Expected merge;
    std::vector<Bits> both = folded(c, 1, merge);
    const std::vector<Bits> other = opened(c, values_[1]);
    combine(c, both, other, merge);
    merge.acc = packed(both, k.acc_bytes);
    Expected finish;
    for (std::size_t i = 0; i < kMaxCount; ++i) {
      bool overflow = false;
      both[i] = reference::finish(c, both[i], kDivisor, overflow);
      if (overflow) finish.first_saturated = std::min(finish.first_saturated, i);
    }
    finish.acc = packed(both, k.wire_bytes);
    const Expected open = after(k, c, 1);
    const std::vector<std::byte> first = packed(values_[0], k.wire_bytes);
    const std::vector<std::byte> second = packed(values_[1], k.wire_bytes);
    const std::vector<std::byte> second_acc = packed(other, k.acc_bytes);

    for (std::size_t at = 0; at < kAlignments * kAlignments; at += kStep) {
      const std::size_t to = at / kAlignments;
      const std::size_t from = at % kAlignments;
      const std::size_t n = at % (kMaxCount + 1);
      const auto check = [&](const char* what, bool right, const Expected& expected) {
        ASSERT_TRUE(right && to_.holds(expected.acc) && to_.guards_intact() &&
                    from_.guards_intact())
            << what << " of " << n << " elements from " << from << " to " << to;
      };
      std::byte* src = from_.put(from, first.data(), n * k.wire_bytes);
      std::byte* acc = to_.put(to, nullptr, n * k.acc_bytes);
      k.open(acc, src, n);
      check("open", true, open);
      src = from_.put(from, second.data(), n * k.wire_bytes);
      check("fold", k.fold(acc, src, n) == merge.saturated(n), merge);
      acc = to_.put(to, open.acc.data(), n * k.acc_bytes);
      src = from_.put(from, second_acc.data(), n * k.acc_bytes);
      check("merge", k.merge(acc, src, n) == merge.saturated(n), merge);
      src = from_.put(from, merge.acc.data(), n * k.acc_bytes);
      std::byte* const out = to_.put(to, nullptr, n * k.wire_bytes);
      check("finish", k.finish(out, src, n, kDivisor) == finish.saturated(n), finish);
      if (HasFatalFailure()) return;
    }
  });
}

// One group, two, and more than two; into nothing, and into what is there. Each source lies at an
// alignment of its own.
TEST_P(Layout, EveryTailOfAFusedPass) {
  for_each_case([&](const Kernels& k, const Case& c) {
    std::vector<std::byte> memory(kMaxSources * (kMaxCount * k.wire_bytes + 2 * kAlignments));
    std::vector<const void*> sources;
    for (std::size_t s = 0; s < kMaxSources; ++s) {
      const std::vector<std::byte> bytes = packed(values_[s], k.wire_bytes);
      std::byte* const at = memory.data() + s * memory.size() / kMaxSources;
      std::memcpy(at + 5 * s, bytes.data(), bytes.size());
      sources.push_back(at + 5 * s);
    }
    const Expected open = after(k, c, 1);
    for (const std::size_t taken : {2u, 3u, 8u, 9u, 17u}) {
      const Expected all = after(k, c, taken);
      for (std::size_t n = 0; n <= kMaxCount; n += kStep) {
        std::byte* acc = to_.put(n % kAlignments, nullptr, n * k.acc_bytes);
        ASSERT_EQ(k.fuse(acc, sources.data(), taken, n), all.saturated(n)) << taken << ", " << n;
        ASSERT_TRUE(to_.holds(all.acc) && to_.guards_intact()) << "fuse " << taken << ", " << n;
        acc = to_.put(n % kAlignments, open.acc.data(), n * k.acc_bytes);
        ASSERT_EQ(k.fold_all(acc, sources.data() + 1, taken - 1, n), all.saturated(n))
            << taken << ", " << n;
        ASSERT_TRUE(to_.holds(all.acc) && to_.guards_intact()) << "fold_all " << taken << ", " << n;
      }
    }
  });
}

std::vector<Isa> available_isas() {
  std::vector<Isa> list;
  for (const Isa isa : kAllIsas)
    if (isa_available(isa)) list.push_back(isa);
  return list;
}
INSTANTIATE_TEST_SUITE_P(All, Layout, ::testing::ValuesIn(available_isas()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace tributary::aggregator
