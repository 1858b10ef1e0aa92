// SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) of 64-bit words:
// the hash of tables whose keys come from packets. Who does not know the key cannot choose words
// that fall into one bucket. With one round for a word and three at the end, as hash tables of
// Python and Rust have it.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <span>

namespace tributary {

struct SipKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  // From the system's random numbers.
  static SipKey random() {
    std::random_device device;
    const auto word = [&device] { return std::uint64_t{device()} << 32 | device(); };
    return {word(), word()};
  }
};

class SipHash {
 public:
  explicit SipHash(const SipKey& key) : key_(key) {}

  // SipHash-1-3 of the words' bytes, the least significant one first.
  [[nodiscard]] std::uint64_t operator()(std::span<const std::uint64_t> words) const {
    State s = {key_.first ^ 0x736f6d6570736575, key_.second ^ 0x646f72616e646f6d,
               key_.first ^ 0x6c7967656e657261, key_.second ^ 0x7465646279746573};
    for (const std::uint64_t word : words) s.take(word);
    s.take(std::uint64_t{words.size() * sizeof(std::uint64_t)} << 56);
    s.c ^= 0xff;
    for (int i = 0; i < 3; ++i) s.mix();
    return s.a ^ s.b ^ s.c ^ s.d;
  }

 private:
  struct State {
    std::uint64_t a, b, c, d;

    void take(std::uint64_t word) {
      d ^= word;
      mix();
      a ^= word;
    }
    void mix() {
      a += b;
      b = std::rotl(b, 13) ^ a;
      a = std::rotl(a, 32);
      c += d;
      d = std::rotl(d, 16) ^ c;
      a += d;
      d = std::rotl(d, 21) ^ a;
      c += b;
      b = std::rotl(b, 17) ^ c;
      c = std::rotl(c, 32);
    }
  };

  SipKey key_;
};

}  // namespace tributary
