// float16 and bfloat16 as bits, converted to float32 and back without CPU support.
//
// Exact, including denormals; narrowing rounds to nearest even. A signalling NaN becomes quiet and
// keeps its sign and the part of its payload that fits, like the CPUs' own conversions.
#pragma once

#include "aggregator/kernels/operation.h"

namespace tributary::aggregator::kernels {

struct Float16 {
  static constexpr std::int16_t kInfinity = 0x7C00;
  static constexpr std::uint16_t kQuietNan = 0x7E00;

  // In float32's position the exponent is too small by 127 - 15 = 112, also for denormals: one
  // multiplication corrects both.
  TRIBUTARY_INLINE float widen(std::uint16_t bits) {
    constexpr std::uint32_t kExponent = 0x7F800000;
    const std::uint32_t magnitude = (std::uint32_t{bits} & 0x7FFF) << 13;
    const float scaled = reinterpret<float>(magnitude) * 0x1p112F;
    const std::uint32_t special =
        magnitude | kExponent | (magnitude > 0x0F800000 ? 0x00400000u : 0u);
    const std::uint32_t value =
        magnitude >= 0x0F800000 ? special : reinterpret<std::uint32_t>(scaled);
    return reinterpret<float>(value | (std::uint32_t{bits} & 0x8000) << 16);
  }

  TRIBUTARY_INLINE std::uint16_t narrow(float value) {
    const auto bits = reinterpret<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    // Below 2^-14 the result is denormal: adding 0.5 makes the unit of float32 its unit, 2^-24,
    // and rounds.
    const std::uint32_t denormal =
        reinterpret<std::uint32_t>(reinterpret<float>(magnitude) + 0.5F) - 0x3F000000;
    const std::uint32_t odd = magnitude >> 13 & 1;
    const std::uint32_t normal = (magnitude - (112u << 23) + 0xFFF + odd) >> 13;
    const std::uint32_t nan = 0x7E00 | (magnitude >> 13 & 0x3FF);
    std::uint32_t result = magnitude < 0x38800000 ? denormal : normal;
    result = magnitude >= 0x477FF000 ? 0x7C00 : result;  // 65,520 and more round to infinity
    result = magnitude > 0x7F800000 ? nan : result;
    return static_cast<std::uint16_t>(result | (bits >> 16 & 0x8000));
  }
};

struct BFloat16 {
  static constexpr std::int16_t kInfinity = 0x7F80;
  static constexpr std::uint16_t kQuietNan = 0x7FC0;

  TRIBUTARY_INLINE float widen(std::uint16_t bits) {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    return reinterpret<float>(wide | ((wide & 0x7FFFFFFF) > 0x7F800000 ? 0x00400000u : 0u));
  }

  TRIBUTARY_INLINE std::uint16_t narrow(float value) {
    const auto bits = reinterpret<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const std::uint32_t nan = bits >> 16 | 0x40;
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded);
  }
};

}  // namespace tributary::aggregator::kernels
