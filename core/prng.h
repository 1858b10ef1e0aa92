// xoshiro256** 1.0 seeded by SplitMix64 (Blackman & Vigna, https://prng.di.unimi.it).
//
// The same seed yields the same stream on every machine and build; tests print the
// seed of a failure. Not for secrets.
#pragma once

#include <array>
#include <cstdint>

namespace tributary {

// SplitMix64's output function; its state grows by the step.
inline constexpr std::uint64_t kSplitMixStep = 0x9E3779B97F4A7C15ULL;
constexpr std::uint64_t split_mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

class Prng {
 public:
  explicit constexpr Prng(std::uint64_t seed) {
    for (auto& word : state_) word = split_mix(seed += kSplitMixStep);
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, bound); bound 0 yields 0. Lemire's multiply-shift; the bias is below 2^-32.
  constexpr std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  // True with the given probability in parts per million.
  constexpr bool chance_ppm(std::uint32_t ppm) { return below(1'000'000) < ppm; }

 private:
  static constexpr std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace tributary
