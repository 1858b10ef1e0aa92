// AVX2 kernels: four vectors a turn, then single vectors, then one masked step for the rest.
// A masked lane is neither read nor written, so the tail needs no scalar loop and never faults.
#include "aggregator/reduce_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstdint>

namespace tributary::aggregator::kernels {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kLaneBytes = 4;
constexpr std::size_t kVectorBytes = kLanes * kLaneBytes;
constexpr std::size_t kUnroll = 4;

// Eight lanes taken from &kTail[8 - n] have the first n set.
alignas(32) constexpr std::array<std::int32_t, 16> kTail = {-1, -1, -1, -1, -1, -1, -1, -1};

struct U32 {
  [[gnu::target("avx2"), gnu::always_inline]] static __m256i add(__m256i a, __m256i b) {
    return _mm256_add_epi32(a, b);
  }
};
struct F32 {
  [[gnu::target("avx2"), gnu::always_inline]] static __m256i add(__m256i a, __m256i b) {
    return _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
  }
};

template <typename Op>
[[gnu::target("avx2"), gnu::always_inline]] inline void step(std::byte* accumulator,
                                                             const std::byte* input) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(accumulator));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(input));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(accumulator), Op::add(a, b));
}

template <typename Op>
[[gnu::target("avx2"), gnu::always_inline]] inline void sum(std::byte* accumulator,
                                                            const std::byte* input,
                                                            std::size_t count) {
  for (; count >= kUnroll * kLanes; count -= kUnroll * kLanes) {
    for (std::size_t i = 0; i < kUnroll; ++i)
      step<Op>(accumulator + i * kVectorBytes, input + i * kVectorBytes);
    accumulator += kUnroll * kVectorBytes;
    input += kUnroll * kVectorBytes;
  }
  for (; count >= kLanes; count -= kLanes) {
    step<Op>(accumulator, input);
    accumulator += kVectorBytes;
    input += kVectorBytes;
  }
  if (count == 0) return;
  const __m256i mask =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTail.data() + (kLanes - count)));
  auto* tail = reinterpret_cast<int*>(accumulator);
  const __m256i a = _mm256_maskload_epi32(tail, mask);
  const __m256i b = _mm256_maskload_epi32(reinterpret_cast<const int*>(input), mask);
  _mm256_maskstore_epi32(tail, mask, Op::add(a, b));
}

}  // namespace

[[gnu::target("avx2")]] void sum_u32_avx2(std::byte* accumulator, const std::byte* input,
                                          std::size_t count) {
  sum<U32>(accumulator, input, count);
}
[[gnu::target("avx2")]] void sum_f32_avx2(std::byte* accumulator, const std::byte* input,
                                          std::size_t count) {
  sum<F32>(accumulator, input, count);
}

}  // namespace tributary::aggregator::kernels
#endif
