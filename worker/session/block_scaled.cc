#include "worker/session/block_scaled.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tributary::worker {

BlockScaled::BlockScaled(std::span<float> values, std::uint32_t ranks,
                         std::uint32_t elements_per_chunk, std::optional<std::int32_t> exponent,
                         const layout::ChunkPlaces& places)
    : values_(places.none() ? std::span<float>() : values),
      elements_per_chunk_(elements_per_chunk),
      places_(places),
      bits_(30 - static_cast<int>(std::bit_width(ranks - 1))),
      chosen_(exponent.has_value()) {
  const std::size_t all = (values.size() + elements_per_chunk - 1) / elements_per_chunk;
  const std::size_t chunks = places.all() ? all : places.size();
  exponents_.resize(std::max<std::size_t>(chunks, 1),
                    static_cast<std::int16_t>(exponent.value_or(0)));
  mantissas_.resize(places.all() ? values.size() : chunks * elements_per_chunk);
  if (chosen_) return;
  for (std::size_t i = 0; i < exponents_.size(); ++i)
    exponents_[i] = needed(chunk_of(static_cast<std::uint32_t>(i)));
}

std::span<float> BlockScaled::chunk_of(std::uint32_t chunk) const {
  const std::size_t begin = std::size_t{places_[chunk]} * elements_per_chunk_;
  return values_.subspan(begin, std::min<std::size_t>(values_.size() - begin, elements_per_chunk_));
}

// The smallest exponent for which every mantissa is below 2^bits.
std::int16_t BlockScaled::needed(std::span<const float> values) const {
  float largest = 0;
  for (const float v : values) {
    if (!std::isfinite(v)) return kNotFinite;
    largest = std::max(largest, std::fabs(v));
  }
  if (largest == 0) return kZero;
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  return static_cast<std::int16_t>(exponent - bits_);
}

namespace {

// Rounds to a mantissa; returns false if the value is out of range, or not a number.
bool round_into(std::int32_t& out, double scaled) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  const double rounded = std::nearbyint(scaled);
  if (rounded >= -kMost && rounded <= kMost) {
    out = static_cast<std::int32_t>(rounded);
    return true;
  }
  out = 0;
  return false;
}

}  // namespace

BlockScaled::Mantissas BlockScaled::mantissas(std::uint32_t chunk) {
  const std::span<float> values = chunk_of(chunk);
  const auto out =
      std::span(mantissas_).subspan(std::size_t{chunk} * elements_per_chunk_, values.size());
  const std::int16_t e = exponents_[chunk];
  bool overflow = false;
  if (!chosen_ && (e == kZero || e == kNotFinite)) {
    std::fill(out.begin(), out.end(), 0);
  } else {
    const double scale = std::ldexp(1.0, -e);  // exact in double, and so is the product
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!round_into(out[i], values[i] * scale)) overflow = true;
  }
  return {std::as_bytes(out), overflow};
}

void BlockScaled::take_floats(std::uint32_t chunk, std::span<const std::byte> sum) {
  const std::span<float> values = chunk_of(chunk);
  if (!values.empty()) std::memcpy(values.data(), sum.data(), values.size_bytes());
}

void BlockScaled::take(std::uint32_t chunk, std::span<const std::byte> sum) {
  const std::span<float> values = chunk_of(chunk);
  const std::int16_t e = exponents_[chunk];
  if (e == kNotFinite)
    return std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
  const double scale = e == kZero ? 0 : std::ldexp(1.0, e);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int32_t mantissa = 0;
    std::memcpy(&mantissa, sum.data() + i * sizeof mantissa, sizeof mantissa);
    values[i] = static_cast<float>(mantissa * scale);
  }
}

}  // namespace tributary::worker
