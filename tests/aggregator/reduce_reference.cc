#include "tests/aggregator/reduce_reference.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace tributary::aggregator::reference {
namespace {

using wire::DType;
using wire::ReduceOp;
__extension__ using Wide = __int128;

bool is_signed(DType t) {
  return t >= DType::int8 && t <= DType::int64;
}
bool is_small_float(DType t) {
  return t == DType::float16 || t == DType::bfloat16;
}
bool is_arithmetic(ReduceOp op) {
  return op == ReduceOp::sum || op == ReduceOp::mean || op == ReduceOp::prod;
}
int bits_of(DType t) {
  return static_cast<int>(wire::size_of(t)) * 8;
}
// Bits of the accumulator.
int acc_bits_of(const Case& c) {
  const bool widened = is_arithmetic(c.op) && (bits_of(c.dtype) == 8 || is_small_float(c.dtype));
  return widened ? 32 : bits_of(c.dtype);
}

Bits truncate(Wide value, int bits) {
  return static_cast<Bits>(value) & (bits == 64 ? ~Bits{0} : (Bits{1} << bits) - 1);
}
Wide number(Bits value, int bits, bool with_sign) {
  const bool negative = with_sign && (value >> (bits - 1) & 1) != 0;
  return negative ? Wide{value} - (Wide{1} << bits) : Wide{value};
}
Wide clamp(Wide value, int bits, bool with_sign, bool& overflow) {
  const Wide top = (Wide{1} << (with_sign ? bits - 1 : bits)) - 1;
  const Wide bottom = with_sign ? -top - 1 : 0;
  overflow = overflow || value > top || value < bottom;
  return value > top ? top : value < bottom ? bottom : value;
}

// Significand bits without the leading one, and the exponent's bias.
struct Format {
  int fraction_bits;
  int bias;
};
Format format_of(DType t) {
  return t == DType::float16 ? Format{10, 15} : Format{7, 127};
}

Bits widen_small_float(DType t, Bits bits) {
  const Format f = format_of(t);
  const Bits fraction = bits & ((1u << f.fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.fraction_bits) & (2 * f.bias + 1);
  const Bits sign = (bits & 0x8000) << 16;
  if (exponent == 2 * f.bias + 1) {
    const Bits quiet = fraction == 0 ? 0 : 0x400000;
    return sign | 0x7F800000 | quiet | fraction << (23 - f.fraction_bits);
  }
  const double significand = exponent == 0
                                 ? static_cast<double>(fraction)
                                 : static_cast<double>(fraction + (1u << f.fraction_bits));
  const int scale = (exponent == 0 ? 1 : exponent) - f.bias - f.fraction_bits;
  return sign | std::bit_cast<std::uint32_t>(static_cast<float>(std::ldexp(significand, scale)));
}

Bits narrow_small_float(DType t, float value) {
  const Format f = format_of(t);
  const Bits sign = std::signbit(value) ? 0x8000 : 0;
  const Bits infinity = Bits(2 * f.bias + 1) << f.fraction_bits;
  if (std::isnan(value)) {
    const Bits payload = std::bit_cast<std::uint32_t>(value) & 0x7FFFFF;
    return sign | infinity | Bits{1} << (f.fraction_bits - 1) | payload >> (23 - f.fraction_bits);
  }
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude == 0) return sign;
  if (std::isinf(value)) return sign | infinity;
  // The unit in the last place of the result, then round to nearest even in double.
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  const double units = std::nearbyint(std::ldexp(magnitude, f.fraction_bits - exponent));
  const double rounded = std::ldexp(units, exponent - f.fraction_bits);
  if (rounded >= std::ldexp(1.0, f.bias + 1)) return sign | infinity;
  const auto biased = static_cast<Bits>(exponent + f.bias - 1);
  // Units of a normal number hold its leading one, which adds one to the exponent.
  return sign | ((biased << f.fraction_bits) + static_cast<Bits>(units));
}

template <typename T, typename B>
Bits combine_floats(ReduceOp op, Bits a_bits, Bits b_bits) {
  const T a = std::bit_cast<T>(static_cast<B>(a_bits));
  const T b = std::bit_cast<T>(static_cast<B>(b_bits));
  // volatile: one rounding, to this type, whatever the compiler would like to do.
  volatile T result = 0;
  if (op == ReduceOp::prod) {
    result = a * b;
  } else if (op == ReduceOp::sum || op == ReduceOp::mean) {
    result = a + b;
  } else if (std::isnan(a) || std::isnan(b)) {
    result = std::numeric_limits<T>::quiet_NaN();
  } else if (a == b) {
    const bool negative = op == ReduceOp::min ? std::signbit(a) || std::signbit(b)
                                              : std::signbit(a) && std::signbit(b);
    result = std::copysign(a, negative ? T{-1} : T{1});
  } else {
    result = (a < b) == (op == ReduceOp::min) ? a : b;
  }
  const T value = result;
  return std::bit_cast<B>(std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value);
}

Bits combine_small_extremes(const Case& c, Bits a, Bits b) {
  const Bits wide = combine_floats<float, std::uint32_t>(c.op, widen_small_float(c.dtype, a),
                                                         widen_small_float(c.dtype, b));
  return narrow_small_float(c.dtype, std::bit_cast<float>(static_cast<std::uint32_t>(wide)));
}

Bits combine_integers(const Case& c, Bits a, Bits b, bool& overflow) {
  const int bits = acc_bits_of(c);
  const bool with_sign = is_signed(c.dtype);
  const Wide x = number(a, bits, with_sign);
  const Wide y = number(b, bits, with_sign);
  switch (c.op) {
    case ReduceOp::sum:
    case ReduceOp::prod: {
      if (c.arithmetic == Arithmetic::modular)
        return truncate(Wide(c.op == ReduceOp::sum ? a + b : a * b), bits);
      // Products of two 64-bit unsigned numbers may not fit into 127 bits.
      if (c.op == ReduceOp::prod && !with_sign && x != 0 && y > (Wide{1} << 64) / x)
        return overflow = true, truncate(-1, bits);
      return truncate(clamp(c.op == ReduceOp::sum ? x + y : x * y, bits, with_sign, overflow),
                      bits);
    }
    case ReduceOp::min: return truncate(x < y ? x : y, bits);
    case ReduceOp::max: return truncate(x > y ? x : y, bits);
    case ReduceOp::bit_and: return a & b;
    case ReduceOp::bit_or: return a | b;
    case ReduceOp::bit_xor: return a ^ b;
    case ReduceOp::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case ReduceOp::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case ReduceOp::logical_xor: return (a != 0) != (b != 0) ? 1 : 0;
    case ReduceOp::mean: break;
  }
  return 0;
}

Bits combine_booleans(ReduceOp op, Bits a, Bits b) {
  const int set = (a != 0 ? 1 : 0) + (b != 0 ? 1 : 0);
  switch (op) {
    case ReduceOp::min:
    case ReduceOp::bit_and:
    case ReduceOp::logical_and: return set == 2 ? 1 : 0;
    case ReduceOp::max:
    case ReduceOp::bit_or:
    case ReduceOp::logical_or: return set > 0 ? 1 : 0;
    default: return set == 1 ? 1 : 0;
  }
}

bool is_logical(ReduceOp op) {
  return op >= ReduceOp::logical_and;
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int d = 1; d <= wire::kDTypeMax; ++d) {
    for (int o = 1; o <= wire::kReduceOpMax; ++o) {
      const auto dtype = static_cast<DType>(d);
      const auto op = static_cast<ReduceOp>(o);
      if (wire::why_invalid(dtype, op) != nullptr) continue;
      cases.push_back({dtype, op, Arithmetic::saturating});
      if (wire::is_integer(dtype)) cases.push_back({dtype, op, Arithmetic::modular});
    }
  }
  return cases;
}

std::string name_of(const Case& c) {
  return std::string(wire::name_of(c.dtype)) + "_" + wire::name_of(c.op) +
         (c.arithmetic == Arithmetic::modular ? "_modular" : "");
}

Bits open(const Case& c, Bits wire) {
  if (c.dtype == DType::boolean || is_logical(c.op)) return wire != 0 ? 1 : 0;
  if (!is_arithmetic(c.op)) return wire;
  if (is_small_float(c.dtype)) return widen_small_float(c.dtype, wire);
  if (wire::is_float(c.dtype)) return wire;
  // Modular: only the low bits count, and they are the same with a sign or without.
  const bool with_sign = is_signed(c.dtype) && c.arithmetic == Arithmetic::saturating;
  return truncate(number(wire, bits_of(c.dtype), with_sign), acc_bits_of(c));
}

Bits combine(const Case& c, Bits acc, Bits other_acc, bool& overflow) {
  if (c.dtype == DType::boolean) return combine_booleans(c.op, acc, other_acc);
  if (wire::is_integer(c.dtype)) return combine_integers(c, acc, other_acc, overflow);
  if (c.dtype == DType::float64) return combine_floats<double, std::uint64_t>(c.op, acc, other_acc);
  if (is_small_float(c.dtype) && !is_arithmetic(c.op))
    return combine_small_extremes(c, acc, other_acc);
  return combine_floats<float, std::uint32_t>(c.op, acc, other_acc);
}

Bits finish(const Case& c, Bits acc, std::uint32_t divisor, bool& overflow) {
  if (!is_arithmetic(c.op)) return acc;
  if (wire::is_integer(c.dtype)) {
    const int from = acc_bits_of(c);
    if (c.arithmetic == Arithmetic::modular) return truncate(Wide(acc), bits_of(c.dtype));
    const bool with_sign = is_signed(c.dtype);
    return truncate(clamp(number(acc, from, with_sign), bits_of(c.dtype), with_sign, overflow),
                    bits_of(c.dtype));
  }
  if (c.dtype == DType::float64) {
    const double value = std::bit_cast<double>(acc);
    if (c.op != ReduceOp::mean) return acc;
    if (std::isnan(value)) return std::bit_cast<Bits>(std::numeric_limits<double>::quiet_NaN());
    return std::bit_cast<Bits>(value / divisor);
  }
  float value = std::bit_cast<float>(static_cast<std::uint32_t>(acc));
  if (c.op == ReduceOp::mean) {
    volatile float quotient = value / static_cast<float>(divisor);
    value = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : quotient;
  }
  if (c.dtype == DType::float32) return std::bit_cast<std::uint32_t>(value);
  return narrow_small_float(c.dtype, value);
}

std::vector<Bits> special_values(DType t) {
  const int bits = bits_of(t);
  const Bits sign = Bits{1} << (bits - 1);
  std::vector<Bits> values = {
      0, 1, 2, sign - 1, sign, sign + 1, truncate(-1, bits), truncate(-2, bits)};
  int fraction = 0;
  switch (t) {
    case DType::float16: fraction = 10; break;
    case DType::bfloat16: fraction = 7; break;
    case DType::float32: fraction = 23; break;
    case DType::float64: fraction = 52; break;
    default: return values;
  }
  const Bits unit = Bits{1} << fraction;  // of the exponent, and the smallest normal number
  const Bits infinity = (sign - 1) / unit * unit;
  const Bits one = (infinity / unit / 2) * unit;
  for (const Bits v :
       {infinity, infinity + 1, infinity + unit / 2, infinity + unit / 2 + 5, infinity - 1, unit,
        unit - 1, unit / 2, one, one + 1, one - unit, one + 3 * unit / 2}) {
    values.push_back(v);
    values.push_back(v | sign);
  }
  return values;
}

Bits random_value(Prng& prng, DType t) {
  const int bits = bits_of(t);
  switch (prng.below(3)) {
    case 0: return truncate(Wide(prng.next()), bits);
    case 1: {
      const std::vector<Bits> values = special_values(t);
      return values[prng.below(static_cast<std::uint32_t>(values.size()))];
    }
    default: break;
  }
  const int small = static_cast<int>(prng.below(201)) - 100;
  switch (t) {
    case DType::float16:
    case DType::bfloat16: return narrow_small_float(t, static_cast<float>(small) / 8);
    case DType::float32: return std::bit_cast<std::uint32_t>(static_cast<float>(small) / 8);
    case DType::float64: return std::bit_cast<Bits>(static_cast<double>(small) / 8);
    default: return truncate(small, bits);
  }
}

}  // namespace tributary::aggregator::reference
