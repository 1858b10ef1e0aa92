// Float sums that do not depend on the order of addition: every chunk is summed as int32 mantissas
// under one exponent that all ranks share.
//
//   values ─▶ exponent each rank needs, chunk by chunk ─ allreduce(max, int16) ─▶ common exponents
//   values ─ quantise ─▶ mantissas ─ allreduce(sum, int32, scale_exponent) ─ dequantise ─▶ values
//
// Without an exponent of the caller's, a mantissa has 30 − ceil(log2 ranks) bits, so that the sum
// of all ranks' mantissas cannot overflow. A value's rounding error is at most half of 2^exponent;
// the largest value of the chunk, on any rank, is below 2^(exponent + those bits). If some rank has
// an infinity or a NaN in a chunk, the chunk is NaN everywhere.
//
// With an exponent of the caller's, equal for all chunks on every rank, no exchange is needed and
// mantissas have 31 bits. Values out of range, or not numbers, are marked; such chunks, and sums
// that overflow, are sent again as floats and summed as floats (rule 12).
//
// The common exponents must be known before the first mantissas() call; the session ensures that
// (Op::after).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "worker/layout/chunk_places.h"

namespace tributary::worker {

class BlockScaled {
 public:
  // The range that a caller may choose from: float32's, with a margin on both sides.
  static constexpr std::int16_t kLeastExponent = -200;
  static constexpr std::int16_t kMostExponent = 127;

  // `values` stay the caller's and get the result; those outside the chunks at `places` stay as
  // they are. Reads all that are inside if it must find exponents.
  BlockScaled(std::span<float> values, std::uint32_t ranks, std::uint32_t elements_per_chunk,
              std::optional<std::int32_t> exponent = {}, const layout::ChunkPlaces& places = {});

  // One for each chunk. First this rank's own; the caller replaces it by the largest of all ranks.
  [[nodiscard]] std::span<std::int16_t> exponents() { return exponents_; }
  [[nodiscard]] bool chosen() const { return chosen_; }
  [[nodiscard]] std::int16_t exponent(std::uint32_t chunk) const { return exponents_[chunk]; }

  struct Mantissas {
    std::span<const std::byte> bytes;
    bool overflow = false;  // some value is out of range
  };
  // Quantises a chunk; the bytes stay valid as long as this object.
  Mantissas mantissas(std::uint32_t chunk);
  // The unquantised chunk, valid until take() or take_floats().
  [[nodiscard]] std::span<const std::byte> floats(std::uint32_t chunk) const {
    return std::as_bytes(chunk_of(chunk));
  }
  // Takes the sum of a chunk, as it is on the wire.
  void take(std::uint32_t chunk, std::span<const std::byte> sum);
  void take_floats(std::uint32_t chunk, std::span<const std::byte> sum);

 private:
  // Exponents of a chunk with no value but 0, and of one with a value that is not finite.
  static constexpr std::int16_t kZero = -32768;
  static constexpr std::int16_t kNotFinite = 32767;

  [[nodiscard]] std::span<float> chunk_of(std::uint32_t chunk) const;
  [[nodiscard]] std::int16_t needed(std::span<const float> values) const;

  std::span<float> values_;
  std::uint32_t elements_per_chunk_;
  layout::ChunkPlaces places_;
  int bits_;
  bool chosen_;  // the exponent is the caller's
  std::vector<std::int16_t> exponents_;
  std::vector<std::int32_t> mantissas_;
};

}  // namespace tributary::worker
