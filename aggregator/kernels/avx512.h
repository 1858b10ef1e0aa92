// The AVX-512 set (F, BW, VL and DQ): its vectors for floats and for saturating sums.
#pragma once

#if defined(__x86_64__)
#include "aggregator/kernels/x86_intrinsics.h"

#include "aggregator/kernels/loops.h"

#define TRIBUTARY_SET avx512
#define TRIBUTARY_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,f16c")]]
#include "aggregator/kernels/compiled_set.h"

#define TRIBUTARY_AVX512 TRIBUTARY_TARGET TRIBUTARY_INLINE

namespace tributary::aggregator::kernels::avx512 {

// Immediate operands of vrange: the operation, and the sign of its result, which puts -0 below +0.
inline constexpr int kRangeMinimum = 0b0100;
inline constexpr int kRangeMaximum = 0b0101;

template <>
struct Lanes<Same<float>> {
  using V = __m512;
  static constexpr std::size_t kLanes = 16;
  static constexpr bool kConverts = false;
  TRIBUTARY_AVX512 V load(const std::byte* p) { return _mm512_loadu_ps(p); }
  TRIBUTARY_AVX512 V widen(const std::byte* p) { return _mm512_loadu_ps(p); }
  TRIBUTARY_AVX512 void store(std::byte* p, V v) { _mm512_storeu_ps(p, v); }
  TRIBUTARY_AVX512 V add(V a, V b) { return _mm512_add_ps(a, b); }
  TRIBUTARY_AVX512 V multiply(V a, V b) { return _mm512_mul_ps(a, b); }
  TRIBUTARY_AVX512 V minimum(V a, V b) { return _mm512_range_ps(a, b, kRangeMinimum); }
  TRIBUTARY_AVX512 V maximum(V a, V b) { return _mm512_range_ps(a, b, kRangeMaximum); }
  TRIBUTARY_AVX512 V nan_if_unordered(V v, V a, V b) {
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q),
                              _mm512_set1_ps(std::numeric_limits<float>::quiet_NaN()));
  }
  TRIBUTARY_AVX512 V one_nan(V v) { return nan_if_unordered(v, v, v); }
};

template <>
struct Lanes<Same<double>> {
  using V = __m512d;
  static constexpr std::size_t kLanes = 8;
  static constexpr bool kConverts = false;
  TRIBUTARY_AVX512 V load(const std::byte* p) { return _mm512_loadu_pd(p); }
  TRIBUTARY_AVX512 V widen(const std::byte* p) { return _mm512_loadu_pd(p); }
  TRIBUTARY_AVX512 void store(std::byte* p, V v) { _mm512_storeu_pd(p, v); }
  TRIBUTARY_AVX512 V add(V a, V b) { return _mm512_add_pd(a, b); }
  TRIBUTARY_AVX512 V multiply(V a, V b) { return _mm512_mul_pd(a, b); }
  TRIBUTARY_AVX512 V minimum(V a, V b) { return _mm512_range_pd(a, b, kRangeMinimum); }
  TRIBUTARY_AVX512 V maximum(V a, V b) { return _mm512_range_pd(a, b, kRangeMaximum); }
  TRIBUTARY_AVX512 V nan_if_unordered(V v, V a, V b) {
    return _mm512_mask_mov_pd(v, _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q),
                              _mm512_set1_pd(std::numeric_limits<double>::quiet_NaN()));
  }
  TRIBUTARY_AVX512 V one_nan(V v) { return nan_if_unordered(v, v, v); }
};

template <>
struct Lanes<SmallFloat<Float16>> : Lanes<Same<float>> {
  static constexpr bool kConverts = true;
  TRIBUTARY_AVX512 V widen(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  TRIBUTARY_AVX512 V divide(V v, float by) { return one_nan(_mm512_div_ps(v, _mm512_set1_ps(by))); }
  TRIBUTARY_AVX512 void narrow(std::byte* p, V v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
};

// Not AVX512_BF16's conversion: it takes denormals for zero.
template <>
struct Lanes<SmallFloat<BFloat16>> : Lanes<Same<float>> {
  TRIBUTARY_AVX512 V widen(const std::byte* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
};

// Integers for saturating sums: what SaturatingSum::quick() does, its marks in one instruction.
template <typename T>
struct IntegerLanes {
  using V = __m512i;
  using Marks = __m512i;
  static constexpr std::size_t kLanes = 64 / sizeof(T);
  static constexpr bool kConverts = false;
  TRIBUTARY_AVX512 V load(const std::byte* p) { return _mm512_loadu_si512(p); }
  TRIBUTARY_AVX512 void store(std::byte* p, V v) { _mm512_storeu_si512(p, v); }
  TRIBUTARY_AVX512 V add(V a, V b) {
    if constexpr (sizeof(T) == 2) return _mm512_add_epi16(a, b);
    if constexpr (sizeof(T) == 4) return _mm512_add_epi32(a, b);
    if constexpr (sizeof(T) == 8) return _mm512_add_epi64(a, b);
  }
  TRIBUTARY_AVX512 V apply(V a, V b, Marks& marks) {
    const V sum = add(a, b);
    // Truth tables over (a, b, sum): a and b differ from the sum; a carry out of a + b.
    constexpr int kWrong = std::is_signed_v<T> ? 0b0100'0010 : 0b1101'0100;
    marks = _mm512_or_si512(marks, _mm512_ternarylogic_epi32(a, b, sum, kWrong));
    return sum;
  }
  TRIBUTARY_AVX512 bool overflowed(Marks marks) {
    if constexpr (sizeof(T) == 2) return _mm512_movepi16_mask(marks) != 0;
    if constexpr (sizeof(T) == 4) return _mm512_movepi32_mask(marks) != 0;
    if constexpr (sizeof(T) == 8) return _mm512_movepi64_mask(marks) != 0;
  }
};
template <typename T>
struct Lanes<Same<T>> : IntegerLanes<T> {
  TRIBUTARY_AVX512 __m512i widen(const std::byte* p) { return _mm512_loadu_si512(p); }
};
template <>
struct Lanes<Widened<std::int8_t, std::int32_t, true>> : IntegerLanes<std::int32_t> {
  TRIBUTARY_AVX512 __m512i widen(const std::byte* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};
template <>
struct Lanes<Widened<std::uint8_t, std::uint32_t, true>> : IntegerLanes<std::uint32_t> {
  TRIBUTARY_AVX512 __m512i widen(const std::byte* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};
template <typename E, typename T>
struct Set<Pair<E, SaturatingSum<T>>> : Vectors<Pair<E, SaturatingSum<T>>, Lanes<E>> {};

}  // namespace tributary::aggregator::kernels::avx512

#undef TRIBUTARY_SET
#undef TRIBUTARY_TARGET
#endif
