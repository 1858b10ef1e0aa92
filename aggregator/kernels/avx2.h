// The AVX2 set, with F16C: its vectors for floats.
#pragma once

#if defined(__x86_64__)
#include "aggregator/kernels/x86_intrinsics.h"

#include "aggregator/kernels/loops.h"

#define TRIBUTARY_SET avx2
#define TRIBUTARY_TARGET [[gnu::target("avx2,f16c")]]
#include "aggregator/kernels/compiled_set.h"

#define TRIBUTARY_AVX2 TRIBUTARY_TARGET TRIBUTARY_INLINE

namespace tributary::aggregator::kernels::avx2 {

// vmin and vmax give their second operand where both are zeros: the signs of both orders combine.
template <>
struct Lanes<Same<float>> {
  using V = __m256;
  static constexpr std::size_t kLanes = 8;
  static constexpr bool kConverts = false;
  TRIBUTARY_AVX2 V load(const std::byte* p) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
  }
  TRIBUTARY_AVX2 V widen(const std::byte* p) { return load(p); }
  TRIBUTARY_AVX2 void store(std::byte* p, V v) { _mm256_storeu_ps(reinterpret_cast<float*>(p), v); }
  TRIBUTARY_AVX2 V add(V a, V b) { return _mm256_add_ps(a, b); }
  TRIBUTARY_AVX2 V multiply(V a, V b) { return _mm256_mul_ps(a, b); }
  TRIBUTARY_AVX2 V minimum(V a, V b) {
    return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));
  }
  TRIBUTARY_AVX2 V maximum(V a, V b) {
    return _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a));
  }
  TRIBUTARY_AVX2 V nan_if_unordered(V v, V a, V b) {
    return _mm256_blendv_ps(v, _mm256_set1_ps(std::numeric_limits<float>::quiet_NaN()),
                            _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
  }
  TRIBUTARY_AVX2 V one_nan(V v) { return nan_if_unordered(v, v, v); }
};

template <>
struct Lanes<Same<double>> {
  using V = __m256d;
  static constexpr std::size_t kLanes = 4;
  static constexpr bool kConverts = false;
  TRIBUTARY_AVX2 V load(const std::byte* p) {
    return _mm256_loadu_pd(reinterpret_cast<const double*>(p));
  }
  TRIBUTARY_AVX2 V widen(const std::byte* p) { return load(p); }
  TRIBUTARY_AVX2 void store(std::byte* p, V v) {
    _mm256_storeu_pd(reinterpret_cast<double*>(p), v);
  }
  TRIBUTARY_AVX2 V add(V a, V b) { return _mm256_add_pd(a, b); }
  TRIBUTARY_AVX2 V multiply(V a, V b) { return _mm256_mul_pd(a, b); }
  TRIBUTARY_AVX2 V minimum(V a, V b) {
    return _mm256_or_pd(_mm256_min_pd(a, b), _mm256_min_pd(b, a));
  }
  TRIBUTARY_AVX2 V maximum(V a, V b) {
    return _mm256_and_pd(_mm256_max_pd(a, b), _mm256_max_pd(b, a));
  }
  TRIBUTARY_AVX2 V nan_if_unordered(V v, V a, V b) {
    return _mm256_blendv_pd(v, _mm256_set1_pd(std::numeric_limits<double>::quiet_NaN()),
                            _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
  }
  TRIBUTARY_AVX2 V one_nan(V v) { return nan_if_unordered(v, v, v); }
};

template <>
struct Lanes<SmallFloat<Float16>> : Lanes<Same<float>> {
  static constexpr bool kConverts = true;
  TRIBUTARY_AVX2 V widen(const std::byte* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  TRIBUTARY_AVX2 V divide(V v, float by) { return one_nan(_mm256_div_ps(v, _mm256_set1_ps(by))); }
  TRIBUTARY_AVX2 void narrow(std::byte* p, V v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
};

template <>
struct Lanes<SmallFloat<BFloat16>> : Lanes<Same<float>> {
  TRIBUTARY_AVX2 V widen(const std::byte* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
};

}  // namespace tributary::aggregator::kernels::avx2

#undef TRIBUTARY_SET
#undef TRIBUTARY_TARGET
#endif
