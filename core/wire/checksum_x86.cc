// Internet checksum with AVX2 and AVX-512: per vector one shift and two additions (see WordSum).
#include "core/wire/checksum_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>

namespace tributary::wire::kernels {
namespace {

template <std::size_t N>
WordSum sum_of_lanes(const std::array<std::uint64_t, N>& total,
                     const std::array<std::uint64_t, N>& high) {
  WordSum sum;
  for (std::size_t i = 0; i < N; ++i) {
    sum.total += total[i];
    sum.high += high[i];
  }
  return sum;
}

}  // namespace

[[gnu::target("avx2")]] std::uint16_t ones_complement_avx2(std::span<const std::byte> bytes) {
  constexpr std::size_t kVector = 32;
  __m256i total0 = _mm256_setzero_si256();
  __m256i total1 = total0;
  __m256i high0 = total0;
  __m256i high1 = total0;
  std::size_t at = 0;
  for (; bytes.size() - at >= 2 * kVector; at += 2 * kVector) {
    const auto* from = reinterpret_cast<const __m256i*>(bytes.data() + at);
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    total0 = _mm256_add_epi64(total0, a);
    total1 = _mm256_add_epi64(total1, b);
    high0 = _mm256_add_epi64(high0, _mm256_srli_epi64(a, 32));
    high1 = _mm256_add_epi64(high1, _mm256_srli_epi64(b, 32));
  }
  alignas(32) std::array<std::uint64_t, 4> total;
  alignas(32) std::array<std::uint64_t, 4> high;
  _mm256_store_si256(reinterpret_cast<__m256i*>(total.data()), _mm256_add_epi64(total0, total1));
  _mm256_store_si256(reinterpret_cast<__m256i*>(high.data()), _mm256_add_epi64(high0, high1));
  return finish(sum_of_lanes(total, high), bytes.subspan(at));
}

// The plain shift intrinsic of GCC 12 reads an undefined register, which it then warns of.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512i upper_halves(__m512i words) {
  return _mm512_maskz_srli_epi64(__mmask8{0xFF}, words, 32);
}

[[gnu::target("avx512f")]] std::uint16_t ones_complement_avx512(std::span<const std::byte> bytes) {
  constexpr std::size_t kVector = 64;
  __m512i total0 = _mm512_setzero_si512();
  __m512i total1 = total0;
  __m512i high0 = total0;
  __m512i high1 = total0;
  std::size_t at = 0;
  for (; bytes.size() - at >= 2 * kVector; at += 2 * kVector) {
    const __m512i a = _mm512_loadu_si512(bytes.data() + at);
    const __m512i b = _mm512_loadu_si512(bytes.data() + at + kVector);
    total0 = _mm512_add_epi64(total0, a);
    total1 = _mm512_add_epi64(total1, b);
    high0 = _mm512_add_epi64(high0, upper_halves(a));
    high1 = _mm512_add_epi64(high1, upper_halves(b));
  }
  alignas(64) std::array<std::uint64_t, 8> total;
  alignas(64) std::array<std::uint64_t, 8> high;
  _mm512_store_si512(total.data(), _mm512_add_epi64(total0, total1));
  _mm512_store_si512(high.data(), _mm512_add_epi64(high0, high1));
  return finish(sum_of_lanes(total, high), bytes.subspan(at));
}

}  // namespace tributary::wire::kernels
#endif
