// Draws the values of a scenario from a seed, one after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/prng.h"
#include "core/time.h"

namespace tributary::sim {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed ^ 0x5EED) {}

  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    return least + random_.below(most - least + 1);
  }
  Duration between(Duration least, Duration most) {
    return least + Duration::us(random_.below(
                       static_cast<std::uint32_t>((most - least).to_ns() / 1000) + 1));
  }
  bool one_in(std::uint32_t n) { return random_.below(n) == 0; }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& values) {
    return values[random_.below(N)];
  }

 private:
  Prng random_;
};

}  // namespace tributary::sim
