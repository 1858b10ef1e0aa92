// CRC-32: a table kernel for any CPU, and two for x86 that fold with carry-less multiplications: 64
// bytes a step, or 256 where vectors of 512 bits multiply.
//
// (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel, 2009, describes the method.)
#include "core/net/crc32.h"

#include <array>
#include <atomic>
#include <cstring>

#include "core/net/reflected_crc.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tributary::wire {
namespace kernels {
namespace {

using Ethernet = ReflectedCrc<0xEDB88320>;

}  // namespace

std::uint32_t crc32_portable(std::span<const std::byte> bytes, std::uint32_t state) {
  return Ethernet::update(bytes, state);
}

#if defined(__x86_64__)
namespace {

// x^n modulo the generator, one bit further up: a product of two reflected values lacks a factor x.
constexpr std::int64_t fold_factor(std::size_t n) {
  return static_cast<std::int64_t>(std::uint64_t{Ethernet::power_of_x(n)} << 1);
}

struct Factors {
  std::int64_t low;   // of the 64 bits that come first
  std::int64_t high;  // of those behind them
};
// Moves 128 bits over `bits` more.
constexpr Factors over(std::size_t bits) {
  return {fold_factor(bits + 32), fold_factor(bits - 32)};
}
constexpr Factors kOver2048 = over(2048);
constexpr Factors kOver512 = over(512);
constexpr Factors kOver128 = over(128);

using Vector = __m128i;

[[gnu::target("sse4.2,pclmul"), gnu::always_inline]] inline Vector load(const void* at) {
  return _mm_loadu_si128(static_cast<const Vector*>(at));
}
[[gnu::target("sse4.2,pclmul"), gnu::always_inline]] inline Vector fold(Vector sum, Vector factors,
                                                                        Vector next) {
  const Vector low = _mm_clmulepi64_si128(sum, factors, 0x00);
  const Vector high = _mm_clmulepi64_si128(sum, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// A message of at least 16 bytes, of which `sum` stands for those before `at`; `left` is a multiple
// of 16.
struct Folded {
  Vector sum;
  const std::byte* at;
  std::size_t left;
};

// Zero bytes in front of a message change nothing, if the state enters with its first byte. So what
// it has beyond a multiple of 16 comes first, behind zeros.
[[gnu::target("sse4.2,pclmul"), gnu::always_inline]] inline Folded begin(
    std::span<const std::byte> bytes, std::uint32_t state) {
  constexpr std::size_t kStateBytes = 4;
  alignas(16) static constexpr std::array<std::uint8_t, 32> kShifts = {
      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
      0x80, 0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,
      6,    7,    8,    9,    10,   11,   12,   13,   14,   15};
  std::size_t odd = bytes.size() % 16;
  if (odd != 0 && odd < kStateBytes) {
    state = crc32_portable(bytes.first(odd), state);
    bytes = bytes.subspan(odd);
    odd = 0;
  }
  const Vector first =
      _mm_xor_si128(load(bytes.data()), _mm_cvtsi32_si128(static_cast<int>(state)));
  if (odd == 0) return {first, bytes.data() + 16, bytes.size() - 16};
  return {_mm_shuffle_epi8(first, load(kShifts.data() + odd)), bytes.data() + odd,
          bytes.size() - odd};
}

// The rest, one by one, and from 128 bits to 32 (Barrett).
[[gnu::target("sse4.2,pclmul"), gnu::always_inline]] inline std::uint32_t finish(Folded m) {
  const Vector near = _mm_set_epi64x(kOver128.high, kOver128.low);
  for (; m.left != 0; m.at += 16, m.left -= 16) m.sum = fold(m.sum, near, load(m.at));
  // The generator, and x^64 divided by it; both reflected.
  const Vector barrett = _mm_set_epi64x(0x1F7011641, 0x1DB710641);
  const Vector word = _mm_setr_epi32(-1, 0, 0, 0);
  Vector x = _mm_xor_si128(_mm_srli_si128(m.sum, 8), _mm_clmulepi64_si128(m.sum, near, 0x10));
  const Vector over_32 = _mm_cvtsi64_si128(fold_factor(64));
  x = _mm_xor_si128(_mm_srli_si128(x, 4),
                    _mm_clmulepi64_si128(_mm_and_si128(x, word), over_32, 0x00));
  Vector q = _mm_clmulepi64_si128(_mm_and_si128(x, word), barrett, 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, word), barrett, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, q), 1));
}

[[gnu::target("sse4.2,pclmul"), gnu::always_inline]] inline Folded fold_by_4(Folded m) {
  constexpr std::size_t kStep = 64;
  if (m.left < kStep - 16) return m;
  const Vector far = _mm_set_epi64x(kOver512.high, kOver512.low);
  const Vector near = _mm_set_epi64x(kOver128.high, kOver128.low);
  Vector b = load(m.at);
  Vector c = load(m.at + 16);
  Vector d = load(m.at + 32);
  m.at += kStep - 16;
  m.left -= kStep - 16;
  for (; m.left >= kStep; m.at += kStep, m.left -= kStep) {
    m.sum = fold(m.sum, far, load(m.at));
    b = fold(b, far, load(m.at + 16));
    c = fold(c, far, load(m.at + 32));
    d = fold(d, far, load(m.at + 48));
  }
  m.sum = fold(fold(fold(m.sum, near, b), near, c), near, d);
  return m;
}

#define TRIBUTARY_WIDE "sse4.2,pclmul,avx512f,avx512bw,avx512vl,avx512dq,vpclmulqdq"
using Wide = __m512i;

[[gnu::target(TRIBUTARY_WIDE), gnu::always_inline]] inline Wide load_wide(const std::byte* at) {
  return _mm512_loadu_si512(at);
}
[[gnu::target(TRIBUTARY_WIDE), gnu::always_inline]] inline Wide fold(Wide sum, Wide factors,
                                                                     Wide next) {
  const Wide low = _mm512_clmulepi64_epi128(sum, factors, 0x00);
  const Wide high = _mm512_clmulepi64_epi128(sum, factors, 0x11);
  return _mm512_ternarylogic_epi64(low, high, next, 0x96);
}

[[gnu::target(TRIBUTARY_WIDE), gnu::always_inline]] inline Wide everywhere(const Factors& f) {
  return _mm512_set_epi64(f.high, f.low, f.high, f.low, f.high, f.low, f.high, f.low);
}

// The plain intrinsic of GCC 12 reads an undefined register, which it then warns of.
template <int kPart>
[[gnu::target(TRIBUTARY_WIDE), gnu::always_inline]] inline Vector part(Wide wide) {
  return _mm512_maskz_extracti32x4_epi32(0xF, wide, kPart);
}

[[gnu::target(TRIBUTARY_WIDE), gnu::always_inline]] inline Folded fold_by_16(Folded m) {
  constexpr std::size_t kStep = 256;
  if (m.left < kStep - 16) return m;
  // The first of its four parts is the sum, the others are what follows.
  Wide a = _mm512_mask_loadu_epi64(_mm512_zextsi128_si512(m.sum), 0xFC, m.at - 16);
  m.at += 48;
  Wide b = load_wide(m.at);
  Wide c = load_wide(m.at + 64);
  Wide d = load_wide(m.at + 128);
  m.at += 192;
  m.left -= kStep - 16;
  const Wide far = everywhere(kOver2048);
  for (; m.left >= kStep; m.at += kStep, m.left -= kStep) {
    a = fold(a, far, load_wide(m.at));
    b = fold(b, far, load_wide(m.at + 64));
    c = fold(c, far, load_wide(m.at + 128));
    d = fold(d, far, load_wide(m.at + 192));
  }
  const Wide middle = everywhere(kOver512);
  a = fold(fold(fold(a, middle, b), middle, c), middle, d);
  for (; m.left >= 64; m.at += 64, m.left -= 64) a = fold(a, middle, load_wide(m.at));
  const Vector near = _mm_set_epi64x(kOver128.high, kOver128.low);
  m.sum = fold(part<0>(a), near, part<1>(a));
  m.sum = fold(fold(m.sum, near, part<2>(a)), near, part<3>(a));
  return m;
}

}  // namespace

[[gnu::target("sse4.2,pclmul")]] std::uint32_t crc32_pclmul(std::span<const std::byte> bytes,
                                                            std::uint32_t state) {
  if (bytes.size() < 16) return crc32_portable(bytes, state);
  return finish(fold_by_4(begin(bytes, state)));
}

[[gnu::target(TRIBUTARY_WIDE)]] std::uint32_t crc32_vpclmul(std::span<const std::byte> bytes,
                                                            std::uint32_t state) {
  if (bytes.size() < 16) return crc32_portable(bytes, state);
  return finish(fold_by_4(fold_by_16(begin(bytes, state))));
}
#endif

}  // namespace kernels

namespace {

std::uint32_t choose_and_update(std::span<const std::byte> bytes, std::uint32_t state);

// Starts as the chooser, which replaces itself; every thread stores the same value.
constinit std::atomic<Crc32Function> g_update{choose_and_update};

std::uint32_t choose_and_update(std::span<const std::byte> bytes, std::uint32_t state) {
  const Crc32Function best = find_crc32(best_isa());
  g_update.store(best, std::memory_order_relaxed);
  return best(bytes, state);
}

}  // namespace

Crc32Function find_crc32(Isa isa) {
  if (!isa_available(isa)) return nullptr;
#if defined(__x86_64__)
  if (isa == Isa::avx512 && __builtin_cpu_supports("vpclmulqdq") != 0)
    return kernels::crc32_vpclmul;
  if (isa == Isa::avx2 || isa == Isa::avx512) return kernels::crc32_pclmul;
#endif
  return kernels::crc32_portable;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) {
  return ~g_update.load(std::memory_order_relaxed)(bytes, ~crc);
}

}  // namespace tributary::wire
