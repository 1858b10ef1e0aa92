#include "core/wire/checksum.h"

#include <array>
#include <cstring>

namespace tributary::wire {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = c;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t state) {
  for (const std::byte b : bytes)
    state = kCrcTable[(state ^ static_cast<std::uint8_t>(b)) & 0xFF] ^ (state >> 8);
  return state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                             std::uint32_t state) {
  std::uint64_t wide = state;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
    bytes = bytes.subspan(8);
  }
  state = static_cast<std::uint32_t>(wide);
  for (const std::byte b : bytes)
    state = __builtin_ia32_crc32qi(state, static_cast<std::uint8_t>(b));
  return state;
}
#endif

}  // namespace

std::uint16_t ones_complement_sum(std::span<const std::byte> bytes) {
  // 32-bit words into 64-bit lanes: no carry is lost below 2^32 words, and it vectorises.
  std::array<std::uint64_t, 4> lanes{};
  while (bytes.size() >= 16) {
    std::array<std::uint32_t, 4> words;
    std::memcpy(words.data(), bytes.data(), sizeof words);
    for (std::size_t i = 0; i < 4; ++i) lanes[i] += words[i];
    bytes = bytes.subspan(16);
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t lane : lanes) sum += (lane & 0xFFFFFFFF) + (lane >> 32);
  while (bytes.size() >= 2) {
    std::uint16_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    sum += word;
    bytes = bytes.subspan(2);
  }
  if (!bytes.empty()) {
    std::array<std::uint8_t, 2> last = {static_cast<std::uint8_t>(bytes[0]), 0};
    std::uint16_t word = 0;
    std::memcpy(&word, last.data(), sizeof word);
    sum += word;
  }
  while ((sum >> 16) != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  static const bool have_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (have_sse42) return ~crc32c_sse42(bytes, ~crc);
#endif
  return ~crc32c_portable(bytes, ~crc);
}

}  // namespace tributary::wire
