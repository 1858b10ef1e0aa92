// Float sums that do not depend on the order of addition: every chunk is summed as int32 mantissas
// under one exponent that all ranks share.
//
//   values ─▶ exponent each rank needs, chunk by chunk ─ allreduce(max, int16) ─▶ common exponents
//   values ─ quantise ─▶ mantissas ─ allreduce(sum, int32, scale_exponent) ─ dequantise ─▶ values
//
// Without an exponent of the caller's, a mantissa has 30 − ceil(log2 ranks) bits, so that the sum
// of all ranks' cannot overflow. What a rank's value loses is at most half of 2^exponent, where the
// largest value of the chunk, on any rank, is below 2^(exponent + those bits). A chunk in which
// some rank has an infinity or a NaN is NaN everywhere.
//
// With an exponent of the caller's, the same for all chunks on every rank, no exchange is needed
// and mantissas have 31 bits. Values that are out of range then, or are no numbers, are marked;
// those and sums that overflow are sent again as they are, and the sum is one of floats (rule 12).
//
// The common exponents must be there before the first mantissas() call; the session sees to it
// (Op::after).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::worker {

class BlockScaled {
 public:
  // What a caller may choose: float32's range, with room on both sides.
  static constexpr std::int16_t kLeastExponent = -200;
  static constexpr std::int16_t kMostExponent = 127;

  // `values` stay the caller's and get the result. Reads all of them where it has to find
  // exponents.
  BlockScaled(std::span<float> values, std::uint32_t ranks, std::uint32_t elements_per_chunk,
              std::optional<std::int32_t> exponent = {});

  // One per chunk. In: what this rank needs. To be replaced by the largest of all ranks.
  [[nodiscard]] std::span<std::int16_t> exponents() { return exponents_; }
  [[nodiscard]] bool chosen() const { return chosen_; }
  [[nodiscard]] std::int16_t exponent(std::uint32_t chunk) const { return exponents_[chunk]; }

  struct Mantissas {
    std::span<const std::byte> bytes;
    bool overflow = false;  // some value is out of range
  };
  // Quantises a chunk; the bytes stay valid as long as this object.
  Mantissas mantissas(std::uint32_t chunk);
  // The chunk as it is, until take() or take_floats().
  [[nodiscard]] std::span<const std::byte> floats(std::uint32_t chunk) const {
    return std::as_bytes(chunk_of(chunk));
  }
  // The sum of a chunk, as the wire has it.
  void take(std::uint32_t chunk, std::span<const std::byte> sum);
  void take_floats(std::uint32_t chunk, std::span<const std::byte> sum);

 private:
  // The exponent of a chunk without any value but 0, and of one with a value that is not finite.
  static constexpr std::int16_t kZero = -32768;
  static constexpr std::int16_t kNotFinite = 32767;

  [[nodiscard]] std::span<float> chunk_of(std::uint32_t chunk) const;
  [[nodiscard]] std::int16_t needed(std::span<const float> values) const;

  std::span<float> values_;
  std::uint32_t elements_per_chunk_;
  int bits_;
  bool chosen_;  // the exponent is the caller's
  std::vector<std::int16_t> exponents_;
  std::vector<std::int32_t> mantissas_;
};

}  // namespace tributary::worker
