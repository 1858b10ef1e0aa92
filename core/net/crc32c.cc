// CRC32C: a table kernel for any CPU, and one for x86 that keeps three CRC32 instructions in
// flight and joins the three streams with two carry-less multiplications.
//
// (V. Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32
// Instruction", Intel, 2011, describes the method.)
#include <atomic>
#include <cstring>

#include "core/net/checksum.h"
#include "core/net/checksum_kernels.h"
#include "core/net/reflected_crc.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tributary::wire {
namespace kernels {
namespace {

using Castagnoli = ReflectedCrc<0x82F63B78>;

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t state) {
  return Castagnoli::update(bytes, state);
}

#if defined(__x86_64__)
namespace {

std::uint64_t load_word(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// `state` over 3 * kStream bytes: three streams side by side. The states of the first two are
// moved over the streams behind them by a multiplication, and their product is folded into the
// last word of the third. Multiplying two reflected 32-bit values leaves a factor x, and the
// CRC32 instruction multiplies its operand by x^32; hence the 33.
template <std::size_t kStream>
[[gnu::target("sse4.2,pclmul"), gnu::always_inline]] inline std::uint32_t three_streams(
    const std::byte* at, std::uint32_t state) {
  static_assert(kStream % 8 == 0);
  constexpr auto kOverOne = static_cast<std::int64_t>(Castagnoli::power_of_x(8 * kStream - 33));
  constexpr auto kOverTwo = static_cast<std::int64_t>(Castagnoli::power_of_x(16 * kStream - 33));
  std::uint64_t a = state;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  for (std::size_t i = 0; i < kStream - 8; i += 8) {
    a = _mm_crc32_u64(a, load_word(at + i));
    b = _mm_crc32_u64(b, load_word(at + kStream + i));
    c = _mm_crc32_u64(c, load_word(at + 2 * kStream + i));
  }
  a = _mm_crc32_u64(a, load_word(at + kStream - 8));
  b = _mm_crc32_u64(b, load_word(at + 2 * kStream - 8));
  const __m128i factors = _mm_set_epi64x(kOverOne, kOverTwo);
  const __m128i moved_a =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<std::int64_t>(a)), factors, 0x00);
  const __m128i moved_b =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<std::int64_t>(b)), factors, 0x10);
  const auto moved = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_xor_si128(moved_a, moved_b)));
  return static_cast<std::uint32_t>(_mm_crc32_u64(c, load_word(at + 3 * kStream - 8) ^ moved));
}

}  // namespace

[[gnu::target("sse4.2,pclmul")]] std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                            std::uint32_t state) {
  // Long streams hide the joining; short ones keep the serial rest of a packet short.
  constexpr std::size_t kLong = 336;
  constexpr std::size_t kShort = 48;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * kLong; at += 3 * kLong, left -= 3 * kLong)
    state = three_streams<kLong>(at, state);
  for (; left >= 3 * kShort; at += 3 * kShort, left -= 3 * kShort)
    state = three_streams<kShort>(at, state);
  std::uint64_t wide = state;
  for (; left >= 8; at += 8, left -= 8) wide = _mm_crc32_u64(wide, load_word(at));
  state = static_cast<std::uint32_t>(wide);
  for (; left != 0; ++at, --left) state = _mm_crc32_u8(state, std::to_integer<std::uint8_t>(*at));
  return state;
}
#endif

}  // namespace kernels

namespace {

std::uint32_t choose_and_update(std::span<const std::byte> bytes, std::uint32_t state);

// Starts as the chooser, which replaces itself; every thread stores the same value.
constinit std::atomic<Crc32cFunction> g_update{choose_and_update};

std::uint32_t choose_and_update(std::span<const std::byte> bytes, std::uint32_t state) {
  const Crc32cFunction best = find_crc32c(best_isa());
  g_update.store(best, std::memory_order_relaxed);
  return best(bytes, state);
}

}  // namespace

Crc32cFunction find_crc32c(Isa isa) {
  if (!isa_available(isa)) return nullptr;
#if defined(__x86_64__)
  if (isa == Isa::avx2 || isa == Isa::avx512) return kernels::crc32c_sse42;
#endif
  return kernels::crc32c_portable;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
  return ~g_update.load(std::memory_order_relaxed)(bytes, ~crc);
}

}  // namespace tributary::wire
