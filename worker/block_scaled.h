// Float sums that do not depend on the order of addition: every chunk is summed as int32 mantissas
// under one exponent that all ranks share.
//
//   values ─▶ exponent each rank needs, chunk by chunk ─ allreduce(max, int16) ─▶ common exponents
//   values ─ quantise ─▶ mantissas ─ allreduce(sum, int32, scale_exponent) ─ dequantise ─▶ values
//
// A mantissa has 30 − ceil(log2 ranks) bits, so that the sum of all ranks' cannot overflow. What a
// rank's value loses is at most half of 2^exponent, where the largest value of the chunk, on any
// rank, is below 2^(exponent + those bits). A chunk in which some rank has an infinity or a NaN is
// NaN everywhere.
//
// The common exponents must be there before the first mantissas() call; the session sees to it
// (Op::after).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::worker {

class BlockScaled {
 public:
  // Reads all of `values`, which stay the caller's and get the result.
  BlockScaled(std::span<float> values, std::uint32_t ranks, std::uint32_t elements_per_chunk);

  // One per chunk. In: what this rank needs. To be replaced by the largest of all ranks.
  [[nodiscard]] std::span<std::int16_t> exponents() { return exponents_; }
  [[nodiscard]] std::int16_t exponent(std::uint32_t chunk) const { return exponents_[chunk]; }

  // Quantises a chunk; the bytes stay valid as long as this object.
  std::span<const std::byte> mantissas(std::uint32_t chunk);
  // The sum of a chunk, as the wire has it.
  void take(std::uint32_t chunk, std::span<const std::byte> sum);

 private:
  // The exponent of a chunk without any value but 0, and of one with a value that is not finite.
  static constexpr std::int16_t kZero = -32768;
  static constexpr std::int16_t kNotFinite = 32767;

  [[nodiscard]] std::span<float> chunk_of(std::uint32_t chunk) const;
  [[nodiscard]] std::int16_t needed(std::span<const float> values) const;

  std::span<float> values_;
  std::uint32_t elements_per_chunk_;
  int bits_;
  std::vector<std::int16_t> exponents_;
  std::vector<std::int32_t> mantissas_;
};

}  // namespace tributary::worker
