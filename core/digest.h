// XXH64 (Yann Collet, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md): the digest
// of a named value and of its segments, and the hash of names. It finds other bytes under one name;
// it is no defence against a member that looks for two values of one digest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary {

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

// The same of bytes that come in parts, with seed 0.
class Xxh64 {
 public:
  void add(std::span<const std::byte> part);
  [[nodiscard]] std::uint64_t value() const;

  using Lanes = std::array<std::uint64_t, 4>;
  static Lanes first_lanes(std::uint64_t seed);

 private:
  Lanes lanes_ = first_lanes(0);
  std::array<std::byte, 32> rest_{};  // of a stripe that is not whole yet
  std::size_t rest_bytes_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace tributary
