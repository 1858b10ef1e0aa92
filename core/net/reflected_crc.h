// A 32-bit CRC in reflected order, by tables: for any CPU, and for the rest that faster kernels
// leave.
//
// The bits of a CRC are the coefficients of a polynomial over GF(2): bit 31 is x^0. Appending n
// zero bytes to a message multiplies its CRC by x^(8n) modulo the generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::wire {

// `kGenerator`: reflected, without its highest coefficient.
template <std::uint32_t kGenerator>
struct ReflectedCrc {
  static constexpr std::uint32_t times_x(std::uint32_t p) {
    return (p >> 1) ^ ((p & 1) != 0 ? kGenerator : 0);
  }

  // x^n modulo the generator.
  static constexpr std::uint32_t power_of_x(std::size_t n) {
    std::uint32_t p = 0x80000000;
    for (; n != 0; --n) p = times_x(p);
    return p;
  }

  // The running state, the CRC's complement, over these bytes.
  static std::uint32_t update(std::span<const std::byte> bytes, std::uint32_t state) {
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; at += 8, left -= 8) {
      const std::uint32_t first = little_endian_word(at) ^ state;
      const std::uint32_t second = little_endian_word(at + 4);
      state = 0;
      for (unsigned i = 0; i < 4; ++i) {
        state ^= kTables[7 - i][(first >> (8 * i)) & 0xFF];
        state ^= kTables[3 - i][(second >> (8 * i)) & 0xFF];
      }
    }
    for (; left != 0; ++at, --left)
      state = kTables[0][(state ^ std::to_integer<std::uint32_t>(*at)) & 0xFF] ^ (state >> 8);
    return state;
  }

 private:
  static std::uint32_t little_endian_word(const std::byte* at) {
    std::uint32_t word = 0;
    for (unsigned i = 0; i < 4; ++i) word |= std::to_integer<std::uint32_t>(at[i]) << (8 * i);
    return word;
  }

  // Row k advances a byte by k more zero bytes: eight bytes a step without waiting on each other.
  static constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t p = i;
      for (auto& table : tables) {
        for (int bit = 0; bit < 8; ++bit) p = times_x(p);
        table[i] = p;
      }
    }
    return tables;
  }
  static constexpr auto kTables = make_tables();
};

}  // namespace tributary::wire
