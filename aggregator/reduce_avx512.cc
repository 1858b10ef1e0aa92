// AVX-512 kernels: four vectors a turn, then single vectors, then one masked step for the rest.
// A masked lane is neither read nor written, so the tail needs no scalar loop and never faults.
#include "aggregator/reduce_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace tributary::aggregator::kernels {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kLaneBytes = 4;
constexpr std::size_t kVectorBytes = kLanes * kLaneBytes;
constexpr std::size_t kUnroll = 4;

struct U32 {
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512i add(__m512i a, __m512i b) {
    return _mm512_add_epi32(a, b);
  }
};
struct F32 {
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512i add(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  }
};

template <typename Op>
[[gnu::target("avx512f"), gnu::always_inline]] inline void step(std::byte* accumulator,
                                                                const std::byte* input) {
  _mm512_storeu_si512(accumulator,
                      Op::add(_mm512_loadu_si512(accumulator), _mm512_loadu_si512(input)));
}

template <typename Op>
[[gnu::target("avx512f"), gnu::always_inline]] inline void sum(std::byte* accumulator,
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
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const __m512i a = _mm512_maskz_loadu_epi32(mask, accumulator);
  const __m512i b = _mm512_maskz_loadu_epi32(mask, input);
  _mm512_mask_storeu_epi32(accumulator, mask, Op::add(a, b));
}

}  // namespace

[[gnu::target("avx512f")]] void sum_u32_avx512(std::byte* accumulator, const std::byte* input,
                                               std::size_t count) {
  sum<U32>(accumulator, input, count);
}
[[gnu::target("avx512f")]] void sum_f32_avx512(std::byte* accumulator, const std::byte* input,
                                               std::size_t count) {
  sum<F32>(accumulator, input, count);
}

}  // namespace tributary::aggregator::kernels
#endif
