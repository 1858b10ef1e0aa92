#include "sim/scenario/numbers.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tributary::sim {
namespace {

using wire::DType;
using wire::ReduceOp;

bool is_half(DType t) {
  return t == DType::float16 || t == DType::bfloat16;
}
bool has_sign(DType t) {
  return t == DType::int8 || t == DType::int16 || t == DType::int32 || t == DType::int64;
}
bool is_arithmetic(ReduceOp op) {
  return op == ReduceOp::sum || op == ReduceOp::prod || op == ReduceOp::mean;
}
Bits cut(DType t, Bits bits) {
  const std::size_t width = wire::size_of(t) * 8;
  return width == 64 ? bits : bits & ((Bits{1} << width) - 1);
}
std::int64_t as_signed(DType t, Bits bits) {
  const int unused = 64 - static_cast<int>(wire::size_of(t)) * 8;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}
bool less(DType t, Bits a, Bits b) {
  return has_sign(t) ? as_signed(t, a) < as_signed(t, b) : a < b;
}

// Digits behind the leading one, and the least exponent of a normal number.
struct Format {
  int digits;
  int least_exponent;
};
constexpr Format format_of(DType t) {
  switch (t) {
    case DType::float16: return {10, -14};
    case DType::bfloat16: return {7, -126};
    case DType::float32: return {23, -126};
    default: return {52, -1022};
  }
}

// To nearest, ties to even. Values of this simulation never reach a type's largest.
double rounded(DType t, double value) {
  if (value == 0) return value;
  const Format f = format_of(t);
  const int exponent = std::max(std::ilogb(value), f.least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, f.digits - exponent)), exponent - f.digits);
}

Bits half_bits(DType t, double value) {
  const Format f = format_of(t);
  const Bits sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(rounded(t, value));
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), f.least_exponent);
  const auto units = static_cast<Bits>(std::ldexp(magnitude, f.digits - exponent));
  return sign + (static_cast<Bits>(exponent - f.least_exponent) << f.digits) + units;
}

double half_value(DType t, Bits bits) {
  const Format f = format_of(t);
  const Bits unit = Bits{1} << f.digits;
  const Bits magnitude = bits & 0x7FFF;
  const auto exponent = static_cast<int>(magnitude >> f.digits);
  const Bits units = (magnitude & (unit - 1)) + (exponent > 0 ? unit : 0);
  const double value = std::ldexp(static_cast<double>(units),
                                  std::max(exponent, 1) - 1 + f.least_exponent - f.digits);
  return (bits & 0x8000) != 0 ? -value : value;
}

// The type in which floats are accumulated.
DType accumulator(DType t, ReduceOp op) {
  return is_half(t) && is_arithmetic(op) ? DType::float32 : t;
}

Bits combine_floats(DType t, ReduceOp op, Bits a_bits, Bits b_bits) {
  const double a = as_double(t, a_bits);
  const double b = as_double(t, b_bits);
  switch (op) {
    case ReduceOp::min: return a < b ? a_bits : b_bits;
    case ReduceOp::max: return a < b ? b_bits : a_bits;
    case ReduceOp::prod:
      return t == DType::float64
                 ? bits_of(t, a * b)
                 : bits_of(t, static_cast<double>(static_cast<float>(a) * static_cast<float>(b)));
    default:
      return t == DType::float64
                 ? bits_of(t, a + b)
                 : bits_of(t, static_cast<double>(static_cast<float>(a) + static_cast<float>(b)));
  }
}

}  // namespace

Bits bits_of(DType dtype, std::int64_t value) {
  if (wire::is_float(dtype)) return bits_of(dtype, static_cast<double>(value));
  return cut(dtype, static_cast<Bits>(value));
}

Bits bits_of(DType dtype, double value) {
  switch (dtype) {
    case DType::float64: return std::bit_cast<Bits>(value);
    case DType::float32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::float16:
    case DType::bfloat16: return half_bits(dtype, value);
    default: return bits_of(dtype, static_cast<std::int64_t>(value));
  }
}

double as_double(DType dtype, Bits bits) {
  switch (dtype) {
    case DType::float64: return std::bit_cast<double>(bits);
    case DType::float32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    default: return half_value(dtype, bits);
  }
}

Bits open(DType dtype, ReduceOp op, Bits value) {
  if (wire::is_float(dtype)) return bits_of(accumulator(dtype, op), as_double(dtype, value));
  const bool logical =
      op == ReduceOp::logical_and || op == ReduceOp::logical_or || op == ReduceOp::logical_xor;
  return logical || dtype == DType::boolean ? Bits{value != 0} : value;
}

Bits combine(DType dtype, ReduceOp op, Bits a, Bits b) {
  if (wire::is_float(dtype)) return combine_floats(accumulator(dtype, op), op, a, b);
  switch (op) {
    case ReduceOp::prod: return cut(dtype, a * b);
    case ReduceOp::min: return less(dtype, a, b) ? a : b;
    case ReduceOp::max: return less(dtype, a, b) ? b : a;
    case ReduceOp::bit_and:
    case ReduceOp::logical_and: return a & b;
    case ReduceOp::bit_or:
    case ReduceOp::logical_or: return a | b;
    case ReduceOp::bit_xor:
    case ReduceOp::logical_xor: return a ^ b;
    default: return cut(dtype, a + b);
  }
}

Bits finish(DType dtype, ReduceOp op, Bits bits, std::size_t operands) {
  if (!wire::is_float(dtype)) return bits;
  const DType acc = accumulator(dtype, op);
  if (op != ReduceOp::mean) return acc == dtype ? bits : bits_of(dtype, as_double(acc, bits));
  const double sum = as_double(acc, bits);
  const double mean =
      dtype == DType::float64
          ? sum / static_cast<double>(operands)
          : static_cast<double>(static_cast<float>(sum) / static_cast<float>(operands));
  return bits_of(dtype, mean);
}

Bits reduce(DType dtype, ReduceOp op, std::span<const Bits> values) {
  Bits accumulated = open(dtype, op, values.front());
  for (const Bits value : values.subspan(1))
    accumulated = combine(dtype, op, accumulated, open(dtype, op, value));
  return finish(dtype, op, accumulated, values.size());
}

// Summing n floats in any order errs by at most n eps sum|x| (Higham, "Accuracy and Stability of
// Numerical Algorithms", section 4.2, whose unit roundoff is eps/2); rounding to the result's own
// type adds its eps.
bool within_rounding(DType dtype, ReduceOp op, wire::Partials partials, Bits got,
                     std::span<const Bits> values) {
  long double sum = 0;
  long double magnitude = 0;
  for (const Bits value : values) {
    const long double x = as_double(dtype, value);
    sum += x;
    magnitude += std::abs(x);
  }
  const auto eps = [](DType t) { return std::ldexp(1.0L, -format_of(t).digits); };
  const auto n = static_cast<long double>(values.size());
  const DType step = partials == wire::Partials::narrow ? dtype : accumulator(dtype, op);
  long double bound = n * eps(step) * magnitude;
  if (op == ReduceOp::mean) {
    sum /= n;
    bound = (bound + eps(step) * magnitude) / n;
  }
  bound += eps(dtype) * (std::abs(sum) + bound);
  return std::abs(static_cast<long double>(as_double(dtype, got)) - sum) <= bound;
}

}  // namespace tributary::sim
