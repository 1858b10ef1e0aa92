// Internet checksum with AVX2 and AVX-512: per vector one shift and two additions (see WordSum).
#include "core/net/checksum_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>

namespace tributary::wire::kernels {
namespace {

// Vectors start at multiples of their own size: a load across two cache lines costs two, packets
// lie at offsets like 34, and aligning gains half as much again. The sum before the first boundary
// needs no shift: 16-bit words may be added in any lane. That holds for even addresses, which
// packets have; data at odd addresses is summed unaligned.
[[gnu::target("avx2"), gnu::always_inline]] inline std::uint64_t sum_of_lanes(__m256i lanes) {
  alignas(32) std::array<std::uint64_t, 4> v;
  _mm256_store_si256(reinterpret_cast<__m256i*>(v.data()), lanes);
  return (v[0] + v[1]) + (v[2] + v[3]);
}

// Thirty-two bytes from kHeadMask + 32 - n keep the first n bytes of a vector.
constexpr auto kHeadMask = [] {
  std::array<std::uint8_t, 64> mask{};
  for (std::size_t i = 0; i < 32; ++i) mask[i] = 0xFF;
  return mask;
}();

}  // namespace

[[gnu::target("avx2")]] std::uint16_t ones_complement_avx2(std::span<const std::byte> bytes) {
  constexpr std::size_t kVector = 32;
  if (bytes.size() < 2 * kVector) return finish({}, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t head = address % 2 != 0 ? 0 : (kVector - address % kVector) % kVector;
  const auto* mask = reinterpret_cast<const __m256i*>(kHeadMask.data() + kVector - head);
  const __m256i first = _mm256_and_si256(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.data())), _mm256_loadu_si256(mask));
  __m256i total0 = first;
  __m256i high0 = _mm256_srli_epi64(first, 32);
  __m256i total1 = _mm256_setzero_si256();
  __m256i high1 = total1;
  std::size_t at = head;
  for (; bytes.size() - at >= 2 * kVector; at += 2 * kVector) {
    const auto* from = reinterpret_cast<const __m256i*>(bytes.data() + at);
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    total0 = _mm256_add_epi64(total0, a);
    total1 = _mm256_add_epi64(total1, b);
    high0 = _mm256_add_epi64(high0, _mm256_srli_epi64(a, 32));
    high1 = _mm256_add_epi64(high1, _mm256_srli_epi64(b, 32));
  }
  return finish({sum_of_lanes(_mm256_add_epi64(total0, total1)),
                 sum_of_lanes(_mm256_add_epi64(high0, high1))},
                bytes.subspan(at));
}

namespace {

// The plain shift intrinsic of GCC 12 reads an undefined register, which it then warns of.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512i upper_halves(__m512i words) {
  return _mm512_maskz_srli_epi64(__mmask8{0xFF}, words, 32);
}

// The sum of each of the two over its lanes, by halves: fewer steps than lane by lane.
[[gnu::target("avx512f"), gnu::always_inline]] inline WordSum sum_of_lanes(__m512i total,
                                                                           __m512i high) {
  const __m512i both = _mm512_add_epi64(_mm512_maskz_unpacklo_epi64(__mmask8{0xFF}, total, high),
                                        _mm512_maskz_unpackhi_epi64(__mmask8{0xFF}, total, high));
  alignas(64) std::array<std::uint64_t, 8> v;
  _mm512_store_si512(v.data(), both);
  return {(v[0] + v[2]) + (v[4] + v[6]), (v[1] + v[3]) + (v[5] + v[7])};
}

}  // namespace

[[gnu::target("avx512f,avx512bw")]] std::uint16_t ones_complement_avx512(
    std::span<const std::byte> bytes) {
  constexpr std::size_t kVector = 64;
  if (bytes.size() < kVector) return finish({}, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t head = address % 2 != 0 ? 0 : (kVector - address % kVector) % kVector;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  // Lanes that are masked off are not read at all, so both ends stay inside the packet.
  __m512i a = _mm512_maskz_loadu_epi8((__mmask64{1} << head) - 1, at);
  __m512i total0 = a;
  __m512i high0 = upper_halves(a);
  __m512i total1 = _mm512_setzero_si512();
  __m512i high1 = total1;
  at += head;
  left -= head;
  for (; left >= 2 * kVector; at += 2 * kVector, left -= 2 * kVector) {
    a = _mm512_loadu_si512(at);
    const __m512i b = _mm512_loadu_si512(at + kVector);
    total0 = _mm512_add_epi64(total0, a);
    total1 = _mm512_add_epi64(total1, b);
    high0 = _mm512_add_epi64(high0, upper_halves(a));
    high1 = _mm512_add_epi64(high1, upper_halves(b));
  }
  if (left >= kVector) {
    a = _mm512_loadu_si512(at);
    total0 = _mm512_add_epi64(total0, a);
    high0 = _mm512_add_epi64(high0, upper_halves(a));
    at += kVector;
    left -= kVector;
  }
  a = _mm512_maskz_loadu_epi8((__mmask64{1} << left) - 1, at);
  total1 = _mm512_add_epi64(total1, a);
  high1 = _mm512_add_epi64(high1, upper_halves(a));
  return folded(sum_of_lanes(_mm512_add_epi64(total0, total1), _mm512_add_epi64(high0, high1)));
}

}  // namespace tributary::wire::kernels
#endif
